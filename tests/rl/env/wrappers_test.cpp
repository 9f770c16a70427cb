// SPDX-License-Identifier: Apache-2.0
// The promise: wrappers are environments, compose, leave static spaces static, and do
// what Gymnasium's wrappers of the same names do.

#include "fiber/rl/wrappers.hpp"

#include <cmath>
#include <filesystem>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include "fiber/rl/cartpole.hpp"
#include "fiber/rl/pendulum.hpp"
#include "fiber/rl/vec_env.hpp"

namespace fiber::rl {
namespace {

/// Counts its steps from a number of its seed, and shows its last action.
class Meter {
public:
  using Action = std::array<float, 2>;
  static constexpr Action action_low{-1, 0}, action_high{1, 10};
  static constexpr std::size_t observation_size = 3;

  explicit Meter(int end = 1000) : end_(end) {}
  void reset(std::uint64_t seed) {
    steps_ = static_cast<int>(seed % 100);
    last_ = {};
  }
  Step step(Action action) {
    ++steps_;
    last_ = action;
    return {.reward = 1, .terminated = steps_ == end_};
  }
  void observe(std::span<float> out) const {
    out[0] = static_cast<float>(steps_);
    out[1] = last_[0];
    out[2] = last_[1];
  }
  Image render() const {
    return {.width = 1, .height = 1, .rgb = std::vector<std::uint8_t>(3)};
  }

private:
  int end_, steps_ = 0;
  Action last_ = {};
};

/// The same, with spaces that are known when the program runs.
class LateMeter {
public:
  using Action = Meter::Action;
  Spaces spaces() const { return spaces_of(meter_); }
  void reset(std::uint64_t seed) { meter_.reset(seed); }
  Step step(Action action) { return meter_.step(action); }
  void observe(std::span<float> out) const { meter_.observe(out); }

private:
  Meter meter_;
};

template <class E>
std::vector<float> seen(const E& environment) {
  std::vector<float> out(spaces_of(environment).observation_size(), -7);
  environment.observe(out);
  return out;
}

using Floats = std::vector<float>;

// -- what the compiler knows

static_assert(Environment<TimeLimit<CartPole, 10>> && Environment<TimeLimit<LateMeter>>);
static_assert(TimeLimit<CartPole, 10>::actions == CartPole::actions);
static_assert(TimeLimit<Meter>::observation_size == 3);
static_assert(FrameStack<Meter, 4>::observation_shape ==
              std::array<std::size_t, 2>{4, 3});
static_assert(FrameStack<FrameStack<Meter, 4>, 2>::observation_shape ==
              std::array<std::size_t, 3>{2, 4, 3});
static_assert(RescaleAction<Meter>::action_high == Meter::Action{1, 1});
static_assert(ClipAction<Meter>::action_high == Meter::action_high);
static_assert(Environment<NormalizeObservation<
                FrameStack<ClipAction<RescaleAction<TimeLimit<Pendulum, 50>>>, 3>>>);
static_assert(!detail::SpacesAtRunTime<FrameStack<Meter, 4>>);
static_assert(detail::SpacesAtRunTime<FrameStack<Meter>>);
static_assert(detail::SpacesAtRunTime<FrameStack<LateMeter, 4>>);
static_assert(!std::is_constructible_v<TimeLimit<Meter, 10>, std::string>);

template <class E>
concept CanBeClipped = requires { typename ClipAction<E>; };
static_assert(CanBeClipped<Pendulum> && !CanBeClipped<CartPole>);
template <class E>
concept CanBeRecorded = requires { typename RecordEpisode<E>; };
static_assert(CanBeRecorded<TimeLimit<CartPole, 5>> && !CanBeRecorded<LateMeter>);

// -- what they do

TEST(Wrappers, time_limit_truncates_at_its_limit_in_each_episode) {
  TimeLimit<Meter, 3> fixed(2); // Meter ends the first episode after two steps.
  TimeLimit<Meter> chosen(3, 2);
  auto check = [](auto& environment) {
    environment.reset(0);
    EXPECT_FALSE(environment.step({}).truncated);
    EXPECT_TRUE(environment.step({}).terminated);
    const auto third = environment.step({});
    EXPECT_TRUE(third.truncated);
    EXPECT_FALSE(third.terminated);
    EXPECT_TRUE(environment.step({}).truncated); // As Gymnasium: until the next reset.
    environment.reset(10);
    EXPECT_FALSE(environment.step({}).truncated);
  };
  check(fixed);
  check(chosen);
  TimeLimit<Meter, 2> both(2);
  both.reset(0);
  both.step({});
  const auto last = both.step({});
  EXPECT_TRUE(last.truncated && last.terminated);
  EXPECT_THROW(TimeLimit<Meter>(0), std::invalid_argument);
}

TEST(Wrappers, frame_stack_shows_the_last_observations_the_newest_last) {
  FrameStack<Meter, 3> environment;
  environment.reset(5);
  EXPECT_EQ(seen(environment), (Floats{5, 0, 0, 5, 0, 0, 5, 0, 0}));
  environment.step({1, 2});
  EXPECT_EQ(seen(environment), (Floats{5, 0, 0, 5, 0, 0, 6, 1, 2}));
  for (float i = 0; i < 3; ++i)
    environment.step({i, 0});
  EXPECT_EQ(seen(environment), (Floats{7, 0, 0, 8, 1, 0, 9, 2, 0}));
  environment.reset(1);
  EXPECT_EQ(seen(environment), (Floats{1, 0, 0, 1, 0, 0, 1, 0, 0}));
  FrameStack<LateMeter> late(2);
  EXPECT_EQ(spaces_of(late).observation_shape, (std::vector<std::size_t>{2, 3}));
  EXPECT_EQ(spaces_of(late).action_high, (Floats{1, 10}));
  late.reset(4);
  late.step({});
  EXPECT_EQ(seen(late), (Floats{4, 0, 0, 5, 0, 0}));
  EXPECT_THROW(FrameStack<Meter>(0), std::invalid_argument);
}

TEST(Wrappers, keep_observations_shows_some_numbers_in_the_order_that_is_asked_for) {
  using Kept = KeepObservations<Meter, 2, 0>;
  static_assert(Kept::observation_size == 2 && Kept::action_high == Meter::action_high);
  Kept meter;
  EXPECT_EQ(spaces_of(meter).observation_shape, std::vector<std::size_t>{2});
  meter.reset(7);
  meter.step({0.5F, 3});
  std::array<float, 2> seen;
  meter.observe(seen);
  EXPECT_EQ(seen, (std::array<float, 2>{3, 8}));
}

TEST(Wrappers, clip_action_clips_each_number) {
  ClipAction<Meter> fixed;
  ClipAction<LateMeter> late;
  auto check = [](auto& environment) {
    environment.reset(0);
    environment.step({-3, 11});
    EXPECT_EQ(seen(environment), (Floats{1, -1, 10}));
    environment.step({0.5F, 3});
    EXPECT_EQ(seen(environment), (Floats{2, 0.5F, 3}));
  };
  check(fixed);
  check(late);
}

TEST(Wrappers, rescale_action_leads_to_the_bounds) {
  RescaleAction<Meter> fixed;
  RescaleAction<LateMeter> late;
  EXPECT_EQ(spaces_of(late).action_low, (Floats{-1, -1}));
  EXPECT_EQ(spaces_of(late).observation_shape, (std::vector<std::size_t>{3}));
  auto check = [](auto& environment) {
    environment.reset(0);
    for (const auto& [given, got] : {std::pair<Meter::Action, Floats>{{-1, -1}, {-1, 0}},
                                     {{1, 1}, {1, 10}},
                                     {{0, 0.5F}, {0, 7.5F}},
                                     {{2, 0}, {2, 5}}}) {
      environment.step(given);
      const auto shown = seen(environment);
      EXPECT_EQ((Floats{shown[1], shown[2]}), got);
    }
  };
  check(fixed);
  check(late);
  ClipAction<RescaleAction<Meter>> both;
  both.reset(0);
  both.step({2, 0});
  EXPECT_EQ(seen(both), (Floats{1, 1, 5}));
}

/// Its actions have no bounds.
class Boundless : public Meter {
public:
  static constexpr Action action_low{-1, -HUGE_VALF}, action_high{1, HUGE_VALF};
};

TEST(Wrappers, rescale_action_names_a_bound_that_is_not_finite) {
  try {
    RescaleAction<Boundless> environment;
    FAIL();
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find("number 1"), std::string::npos);
  }
}

TEST(Wrappers, normalize_observation_uses_the_moments_that_it_got) {
  const FrozenNormaliser normaliser({1, 0, 0}, {0.5, 1, 100}, 10);
  NormalizeObservation<Meter> environment(normaliser);
  environment.reset(5);
  environment.step({1, 2});
  EXPECT_EQ(seen(environment), (Floats{2.5F, 1, 10}));
  EXPECT_EQ(seen(environment), (Floats{2.5F, 1, 10})); // They do not change.
  const FrozenNormaliser of_one(std::vector<double>{0}, std::vector<double>{1}, 10);
  EXPECT_THROW(NormalizeObservation<Pendulum>{of_one}, std::invalid_argument);
  NormalizeObservation<Meter> identity{FrozenNormaliser()};
  identity.reset(5);
  EXPECT_EQ(seen(identity), (Floats{5, 0, 0}));
}

/// A folder that goes with the test.
class RecordedEpisodes : public testing::Test {
protected:
  RecordedEpisodes() {
    auto name = (std::filesystem::temp_directory_path() / "fiber-record-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr)
      throw std::runtime_error("no folder");
    folder_ = name;
  }
  ~RecordedEpisodes() override { std::filesystem::remove_all(folder_); }

  RecordOptions options() const {
    RecordOptions options;
    options.folder = (folder_ / "new" / "videos").string();
    return options;
  }
  std::set<std::string> files() const {
    std::set<std::string> names;
    if (std::filesystem::exists(options().folder))
      for (const auto& entry : std::filesystem::directory_iterator(options().folder)) {
        EXPECT_GT(entry.file_size(), 10U);
        names.insert(entry.path().filename().string());
      }
    return names;
  }

private:
  std::filesystem::path folder_;
};

using Names = std::set<std::string>;

TEST_F(RecordedEpisodes, are_those_of_the_schedule_and_written_when_they_end) {
  RecordEpisode<Meter> environment(options(), 3);
  for (std::uint64_t episode = 0; episode < 10; ++episode) {
    environment.reset(0);
    for (int step = 0; step < 3; ++step) {
      EXPECT_EQ(files().empty(), episode == 0);
      environment.step({});
    }
  }
  EXPECT_EQ(files(),
            (Names{"episode-episode-0-seed-0.gif", "episode-episode-1-seed-0.gif",
                   "episode-episode-8-seed-0.gif"}));
}

TEST_F(RecordedEpisodes, that_do_not_end_are_written_at_the_reset_and_the_end) {
  auto every_second = options();
  every_second.every = 2;
  every_second.prefix = "run";
  every_second.pictures = 2;
  {
    RecordEpisode<TimeLimit<Meter>> environment(every_second, 100);
    environment.reset(7);
    for (int step = 0; step < 9; ++step) // More than there are pictures.
      environment.step({});
    environment.reset(8);
    EXPECT_EQ(files(), Names{"run-episode-0-seed-7.gif"});
    environment.step({});
    environment.reset(9);
    environment.step({});
  }
  EXPECT_EQ(files(), (Names{"run-episode-0-seed-7.gif", "run-episode-2-seed-9.gif"}));
  every_second.pictures = 0;
  EXPECT_THROW(RecordEpisode<Meter>{every_second}, std::invalid_argument);
}

TEST(Wrappers, work_in_a_vec_env) {
  VecEnv<FrameStack<TimeLimit<CartPole>, 2>> envs({.envs = 3, .seed = 4}, 5);
  VecEnv<CartPole> plain({.envs = 3, .seed = 4});
  EXPECT_EQ(envs.spaces().observation_shape, (std::vector<std::size_t>{2, 4}));
  envs.reset();
  plain.reset();
  const std::vector<int> actions(3);
  for (int step = 1; step <= 5; ++step) {
    const auto& stacked = envs.step(actions);
    const auto& one = plain.step(actions);
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(stacked.truncated[i], step == 5);
      const auto newest = stacked.final_observation(i).subspan(4);
      EXPECT_TRUE(std::ranges::equal(newest, one.final_observation(i)));
    }
  }
}

} // namespace
} // namespace fiber::rl
