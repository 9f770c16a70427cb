// SPDX-License-Identifier: Apache-2.0
// GymEnv's promise: an environment of Python behaves as one of C++ does, and what Python
// throws arrives as an exception with its traceback. fake/ is the Gymnasium of this test.
#include "fiber/rl/gym.hpp"

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <thread>

#include <gtest/gtest.h>

#include "fiber/rl/environments.hpp"

#include <sys/wait.h>
#include <unistd.h>

namespace fiber::rl {
namespace {

namespace fs = std::filesystem;

/// An empty virtual environment in a new folder, which goes with it.
class Venv {
public:
  explicit Venv(const std::string& version = FIBER_PYTHON_VERSION) {
    std::string pattern = testing::TempDir() + "gym-XXXXXX";
    if (!mkdtemp(pattern.data()))
      throw std::runtime_error("mkdtemp " + pattern);
    folder = pattern;
    packages = folder / ("lib/python" + version) / "site-packages";
    fs::create_directories(packages);
    std::ofstream(folder / "pyvenv.cfg") << "include-system-site-packages = false\n";
  }
  ~Venv() { fs::remove_all(folder); }
  Venv(const Venv&) = delete;
  Venv& operator=(const Venv&) = delete;

  fs::path folder;
  fs::path packages;
};

struct FakeVenv : Venv {
  FakeVenv() {
    for (const auto* package : {"gymnasium", "ale_py"})
      fs::create_directory_symlink(fs::path(FIBER_FAKE_GYMNASIUM) / package,
                                   packages / package);
  }
};

class GymTest : public testing::Test {
protected:
  static void SetUpTestSuite() {
    static const FakeVenv venv; // One for all: the process has one interpreter.
    setenv("FIBER_RL_VENV", venv.folder.c_str(), 1);
    setenv("PYTHONDONTWRITEBYTECODE", "1", 1); // fake/ is in the source tree.
  }

  static std::vector<float> shown(const AnyEnvironment& environment) {
    std::vector<float> out(environment.spaces().observation_size());
    environment.observe(out);
    return out;
  }
  static Step act(AnyEnvironment& environment, std::vector<float> action) {
    return environment.step(action);
  }
  /// What the call throws; fails if it throws nothing of type E.
  template <class E = GymError, class F>
  static std::string thrown_by(F f) {
    try {
      f();
    } catch (const E& error) {
      return error.what();
    }
    ADD_FAILURE() << "nothing was thrown";
    return {};
  }
  static bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  }
};
using GymDeathTest = GymTest;

using Floats = std::vector<float>;

Spaces spaces(std::vector<std::size_t> observation_shape, int actions, Floats low = {},
              Floats high = {}) {
  return {.observation_shape = std::move(observation_shape),
          .actions = actions,
          .action_low = std::move(low),
          .action_high = std::move(high)};
}

TEST_F(GymTest, screens_of_atari_are_scaled_for_networks) {
  AnyGymEnv environment("ALE/Game-v5");
  environment.reset(7);
  const auto screen = shown(environment);
  ASSERT_EQ(screen.size(), 3U);
  EXPECT_EQ(screen[0], 0);
  EXPECT_FLOAT_EQ(screen[1], 0.2F);
  EXPECT_EQ(screen[2], 1);
}

TEST_F(GymTest, an_environment_of_multi_discrete_actions_says_what_is_possible) {
  static_assert(Environment<GymEnv<std::array<int, 2>>>);
  const auto wheels = erase<GymEnv<std::array<int, 2>>>("Wheels-v0");
  const auto spaces = wheels->spaces();
  EXPECT_EQ(spaces.action_counts, (std::vector{3, 2}));
  EXPECT_TRUE(spaces.masked);
  wheels->reset(7);
  std::vector<std::uint8_t> mask(5, 9);
  wheels->mask(mask);
  EXPECT_EQ(mask, (std::vector<std::uint8_t>{0, 1, 1, 1, 1}));
  act(*wheels, {2, 1});
  EXPECT_EQ(shown(*wheels), (Floats{1, 2, 6})); // The second one starts at 5.
  wheels->mask(mask);
  EXPECT_EQ(mask, (std::vector<std::uint8_t>{1, 1, 0, 1, 1}));
  EXPECT_EQ(thrown_by<std::invalid_argument>([&] {
              act(*wheels, {1, 2});
            }),
            "no choice 2 of component 1 of the action; there are 0 to 1");
}

TEST_F(GymTest, a_mask_of_another_size_is_an_error) {
  AnyGymEnv environment("BadMask-v0");
  EXPECT_TRUE(environment.spaces().masked);
  environment.reset(7);
  std::vector<std::uint8_t> mask(3);
  const auto error = thrown_by([&] { environment.mask(mask); });
  EXPECT_EQ(error,
            "action_masks() of BadMask-v0 returns 1 values, and actions have 3 choices");
  AnyGymEnv without("Count-v0");
  EXPECT_FALSE(without.spaces().masked);
  without.mask(mask);
  EXPECT_EQ(mask, (std::vector<std::uint8_t>{1, 1, 1}));
}

TEST_F(GymTest, an_environment_of_discrete_actions_runs_an_episode) {
  AnyGymEnv environment("Count-v0");
  EXPECT_EQ(environment.spaces(), spaces({3}, 3));
  environment.reset(7);
  EXPECT_EQ(shown(environment), (Floats{7, 0, -1}));
  const auto first = act(environment, {2});
  EXPECT_EQ(first.reward, 20);
  EXPECT_FALSE(first.terminated || first.truncated);
  EXPECT_EQ(shown(environment), (Floats{7, 1, 2}));
  act(environment, {0});
  const auto third = act(environment, {1});
  EXPECT_TRUE(third.truncated && !third.terminated);
  act(environment, {0});
  const auto last = act(environment, {0});
  EXPECT_TRUE(last.terminated && !last.truncated);
  environment.reset(8);
  EXPECT_EQ(shown(environment), (Floats{8, 0, -1}));
}

TEST_F(GymTest, a_long_seed_is_folded_to_32_bits) {
  AnyGymEnv environment("Count-v0");
  environment.reset(0x0000'0003'0000'0005);
  EXPECT_EQ(shown(environment)[0], 3 ^ 5);
}

TEST_F(GymTest, arguments_are_literals_of_python_booleans_and_strings) {
  AnyGymEnv environment(
    {.id = "Count-v0", .arguments = {"limit=2", "name=a name", "fast=false"}});
  environment.reset(0);
  EXPECT_FALSE(act(environment, {0}).terminated);
  EXPECT_TRUE(act(environment, {0}).terminated);
  const auto error = thrown_by<std::invalid_argument>(
    [] { AnyGymEnv({.id = "Count-v0", .arguments = {"limit"}}); });
  EXPECT_EQ(error, "the argument 'limit' of Count-v0 has no name: write name=value");
}

TEST_F(GymTest, a_name_may_carry_arguments_and_flags) {
  const auto options = gym_options("Count-v0?limit=2&clip_rewards=true&name=a name");
  EXPECT_EQ(options.id, "Count-v0");
  EXPECT_EQ(options.arguments, (std::vector<std::string>{"limit=2", "name=a name"}));
  EXPECT_TRUE(options.clip_rewards && options.fire_on_reset && !options.episodic_life);
  auto environment = make_environment("Count-v0?limit=1");
  environment->reset(0);
  EXPECT_TRUE(act(*environment, {2}).terminated);
  EXPECT_THROW(gym_options("Count-v0?limit"), std::invalid_argument);
  EXPECT_THROW(gym_options("Count-v0?clip_rewards=1"), std::invalid_argument);
}

TEST_F(GymTest, pictures_come_with_the_render_mode_for_them) {
  EXPECT_EQ(AnyGymEnv("Image-v0").render(), std::nullopt);
  EXPECT_EQ(AnyGymEnv("Image-v0?render_mode=rgb_array").render(),
            (Image{.width = 2, .height = 1, .rgb = {1, 2, 3, 253, 254, 255}}));
}

TEST_F(GymTest, rewards_are_clipped_on_demand) {
  AnyGymEnv environment({.id = "Count-v0", .clip_rewards = true});
  environment.reset(0);
  EXPECT_EQ(act(environment, {2}).reward, 1);
}

TEST_F(GymTest, a_continuous_action_has_the_type_of_its_space) {
  AnyGymEnv environment("Move-v0");
  EXPECT_EQ(
    environment.spaces(),
    (Spaces{.observation_shape = {2, 2}, .action_low = {-2, -2}, .action_high = {3, 3}}));
  environment.reset(0);
  EXPECT_EQ(act(environment, {1, 2}).reward, 0.5);
  EXPECT_EQ(shown(environment), (Floats{-2, -2, 1, 2}));
}

TEST_F(GymTest, an_action_that_the_environment_has_kept_stays_as_it_is) {
  AnyGymEnv environment("Move-v0");
  environment.reset(0);
  act(environment, {1, 2});
  act(environment, {-1, 0.5});
  EXPECT_EQ(shown(environment), (Floats{1, 2, -1, 0.5}));
}

TEST_F(GymTest, bytes_become_floats_of_the_same_value_whatever_their_strides) {
  AnyGymEnv environment("Image-v0");
  environment.reset(0);
  EXPECT_EQ(shown(environment), (Floats{250, 251, 252}));
}

TEST_F(GymTest, discrete_observations_are_one_hot_and_spaces_may_start_anywhere) {
  AnyGymEnv environment("Grid-v0");
  EXPECT_EQ(environment.spaces(), spaces({4}, 2));
  environment.reset(0); // Shows 2, the first.
  EXPECT_EQ(shown(environment), (Floats{1, 0, 0, 0}));
  EXPECT_EQ(act(environment, {1}).reward, 0); // The action 0 of Python.
  EXPECT_EQ(shown(environment), (Floats{0, 1, 0, 0}));
}

TEST_F(GymTest, a_dict_becomes_named_parts_in_gymnasiums_order) {
  AnyGymEnv environment("Goal-v0");
  const auto spaces = environment.spaces();
  EXPECT_EQ(spaces.observation_shape, std::vector<std::size_t>{8});
  std::vector<std::pair<std::string, std::size_t>> parts;
  for (const auto& part : spaces.observation_parts)
    parts.emplace_back(part.name, part.size);
  EXPECT_EQ(parts, (std::vector<std::pair<std::string, std::size_t>>{
                     {"body.place", 2}, {"body.speed", 2}, {"goal", 1}, {"room", 3}}));
  environment.reset(7);
  act(environment, {2});
  EXPECT_EQ(shown(environment), (Floats{1, 2, 0.5F, 1, 7, 0, 0, 1}));
  const auto seen = shown(environment);
  EXPECT_EQ(spaces.part("goal").in(seen)[0], 7);
  AnyGymEnv aimless("Aimless-v0");
  EXPECT_TRUE(has(thrown_by([&] { aimless.reset(0); }), "KeyError: 'place'"));
  const auto error = thrown_by<std::invalid_argument>([] { AnyGymEnv("Mixed-v0"); });
  EXPECT_TRUE(has(error, "the observation space of Mixed-v0 is Dict(a): only Box, "
                         "Discrete and Dicts of them are supported"))
    << error;
}

TEST_F(GymTest, an_exception_arrives_with_its_traceback) {
  AnyGymEnv environment("Raises-v0");
  environment.reset(0);
  const auto error = thrown_by([&] { act(environment, {0}); });
  EXPECT_TRUE(error.starts_with("Raises-v0, step: Traceback (most recent call last)"))
    << error;
  EXPECT_TRUE(has(error, "__init__.py\", line ") && has(error, ", in fall\n")) << error;
  EXPECT_TRUE(error.ends_with("ValueError: the cart has left the table")) << error;
  environment.reset(0); // It lives on.
  const auto without =
    thrown_by([] { AnyGymEnv({.id = "Count-v0", .arguments = {"id=again"}}); });
  EXPECT_TRUE(has(without, "multiple values for argument 'id'")) << without;
  EXPECT_TRUE(has(thrown_by([] { AnyGymEnv("None-v0"); }), "KeyError: 'None-v0'"));
}

TEST_F(GymTest, what_is_not_gymnasiums_is_an_error_that_says_so) {
  AnyGymEnv old("Old-v0");
  old.reset(0);
  EXPECT_TRUE(has(thrown_by([&] { act(old, {0}); }), "not the 5 values of Gymnasium"));
  AnyGymEnv wide("Wide-v0");
  EXPECT_TRUE(has(thrown_by([&] { wide.reset(0); }), "7 numbers, where 3 are expected"));
  const auto error = thrown_by<std::invalid_argument>([] { AnyGymEnv("Many-v0"); });
  EXPECT_TRUE(has(error, "the action space of Many-v0 is MultiBinary(3): only Box"))
    << error;
}

TEST_F(GymTest, more_actions_than_floats_have_whole_numbers_are_refused) {
  AnyGymEnv most("Most-v0");
  most.reset(0);
  act(most, {16'777'215});
  EXPECT_EQ(shown(most), (Floats{0, 0xfff, 0xfff}));
  const auto error = thrown_by<std::invalid_argument>([] { AnyGymEnv("TooMany-v0"); });
  EXPECT_TRUE(error.starts_with("TooMany-v0 has 1099511627776 discrete actions; there "
                                "may be at most 16777216"))
    << error;
}

TEST_F(GymTest, an_action_that_there_is_not_is_refused_before_python_sees_it) {
  AnyGymEnv environment("Count-v0");
  environment.reset(0);
  for (const auto& action : {Floats{3}, Floats{-1}, Floats{}, Floats{0, 0}})
    EXPECT_THROW(act(environment, action), std::invalid_argument);
  EXPECT_EQ(shown(environment), (Floats{0, 0, -1}));
}

TEST_F(GymTest, environments_run_in_several_threads) {
  std::array<Floats, 4> last;
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < last.size(); ++i)
    threads.emplace_back([i, &last] {
      AnyGymEnv environment({.id = "Count-v0", .arguments = {"limit=1000"}});
      environment.reset(i);
      for (int step = 0; step < 500; ++step)
        act(environment, {static_cast<float>(i % 3)});
      last[i] = shown(environment);
    });
  threads.clear();
  for (std::size_t i = 0; i < last.size(); ++i)
    EXPECT_EQ(last[i], (Floats{static_cast<float>(i), 500, static_cast<float>(i % 3)}));
}

TEST_F(GymTest, an_environment_may_move_to_another_thread) {
  AnyGymEnv environment("Count-v0");
  environment.reset(1);
  std::jthread([moved = std::move(environment)]() mutable { act(moved, {1}); });
  AnyGymEnv other("Count-v0");
  other.reset(2);
  EXPECT_EQ(shown(other)[0], 2);
}

TEST_F(GymTest, a_typed_environment_takes_actions_of_its_type_only) {
  static_assert(Environment<GymEnv<int>>);
  static_assert(Environment<GymEnv<std::array<float, 2>>>);
  auto count = erase<GymEnv<int>>("Count-v0");
  count->reset(3);
  EXPECT_EQ(act(*count, {2}).reward, 20);
  GymEnv<std::array<float, 2>> move("Move-v0");
  move.reset(0);
  EXPECT_EQ(move.step({1, 2}).reward, 0.5);
  EXPECT_THROW(GymEnv<int>("Move-v0"), std::invalid_argument);
  EXPECT_THROW((GymEnv<std::array<float, 3>>("Move-v0")), std::invalid_argument);
  EXPECT_THROW((GymEnv<std::array<float, 1>>("Count-v0")), std::invalid_argument);
  EXPECT_EQ(
    thrown_by<std::invalid_argument>([] { GymEnv<int>("Wheels-v0"); }),
    "GymEnv<int>: the actions are multi-discrete: use GymEnv<std::array<int, 2>>");
}

TEST_F(GymTest, a_forked_process_gets_an_error_rather_than_a_broken_interpreter) {
  AnyGymEnv environment("Count-v0");
  const auto child = fork();
  if (child == 0) {
    try {
      AnyGymEnv again("Count-v0");
    } catch (const GymError& error) {
      _exit(has(error.what(), "was forked") ? 0 : 1);
    }
    _exit(2);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

// Of the virtual environment. Each needs a process without an interpreter.

void try_count() {
  try {
    AnyGymEnv environment("Count-v0");
  } catch (const GymError& error) {
    std::cerr << error.what() << '\n';
  }
  std::exit(0);
}

TEST_F(GymDeathTest, a_closed_environment_is_closed_in_python) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(try_count(), testing::ExitedWithCode(0), "closed");
}

TEST_F(GymDeathTest, a_missing_gymnasium_is_an_error_that_says_how_to_get_it) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  static const Venv empty;
  EXPECT_EXIT(
    {
      unsetenv("FIBER_RL_VENV");
      setenv("VIRTUAL_ENV", empty.folder.c_str(), 1);
      try_count();
    },
    testing::ExitedWithCode(0),
    "Python has no package gymnasium in .*/gym-"
    ".*pip install gymnasium.*FIBER_RL_VENV");
}

TEST_F(GymDeathTest, a_virtual_environment_of_another_version_is_an_error) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  static const Venv other("3.2");
  EXPECT_EXIT(
    {
      setenv("FIBER_RL_VENV", other.folder.c_str(), 1);
      try_count();
    },
    testing::ExitedWithCode(0),
    "FIBER_RL_VENV=.* is a virtual environment of Python 3.2, but this program has "
    "Python " FIBER_PYTHON_VERSION);
}

TEST_F(GymDeathTest, a_folder_that_is_no_virtual_environment_is_an_error) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
    {
      setenv("FIBER_RL_VENV", "/proc", 1);
      try_count();
    },
    testing::ExitedWithCode(0), "FIBER_RL_VENV=/proc is no virtual environment");
}

TEST_F(GymTest, make_environment_knows_the_ids_of_gymnasium) {
  auto environment = make_environment("Count-v0");
  environment->reset(4);
  EXPECT_EQ(shown(*environment)[0], 4);
}

} // namespace
} // namespace fiber::rl
