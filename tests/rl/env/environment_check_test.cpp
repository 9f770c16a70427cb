// SPDX-License-Identifier: Apache-2.0
// A mistake in an environment is named, with what would be right, before a training
// begins.

#include "fiber/rl/environment_check.hpp"

#include <cstdlib>
#include <limits>
#include <stdexcept>

#include <signal.h>

#include <gtest/gtest.h>

#include "fiber/rl/checkpoint_file.hpp"
#include "fiber/rl/environments.hpp"

namespace fiber::rl {
namespace {

/// Two numbers to see, one to choose; each mistake is a class derived from it.
struct Sound {
  using Action = std::array<float, 1>;
  static constexpr std::size_t observation_size = 2;
  static constexpr Action action_low = {-1}, action_high = {1};

  void reset(std::uint64_t) { steps = 0; }
  Step step(Action) { return {.reward = 1, .truncated = ++steps == 200}; }
  void observe(std::span<float> out) const { out[0] = out[1] = 0; }

  int steps = 0;
};

struct WritesThree : Sound {
  void observe(std::span<float> out) const { std::fill_n(out.data(), 3, 0.0F); }
};
struct WritesTwoOfThree : Sound {
  static constexpr std::size_t observation_size = 3;
};
struct SeesNan : Sound {
  void observe(std::span<float> out) const {
    out[0] = 0;
    out[1] = steps == 7 ? std::numeric_limits<float>::quiet_NaN() : 0;
  }
};
struct PaysInfinity : Sound {
  Step step(Action) {
    return {.reward = ++steps == 3 ? std::numeric_limits<double>::infinity() : 0};
  }
};
struct ThrowsAtSeven : Sound {
  Step step(Action) {
    if (++steps == 7)
      throw std::range_error("the beam broke");
    return {};
  }
};
struct CrashesAtSeven : Sound {
  Step step(Action) {
    if (++steps == 7)
      ::raise(SIGSEGV);
    return {};
  }
};
struct ThrowsInReset : Sound {
  void reset(std::uint64_t) { throw 42; }
};
struct BoundsSwapped : Sound {
  static constexpr Action action_low = {1}, action_high = {-1};
};
struct HasSpaces : Sound {
  explicit HasSpaces(Spaces own) : mine(std::move(own)) {}
  Spaces spaces() const { return mine; }
  Spaces mine;
};
struct Unbounded : Sound {
  static constexpr float no = std::numeric_limits<float>::infinity();
  static constexpr Action action_low = {-no}, action_high = {no};
};

template <class Error = std::invalid_argument, Environment E = Sound>
std::string said_of(E environment) {
  try {
    check_environment(*erase<E>(std::move(environment)));
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing";
}

TEST(EnvironmentCheckTest, names_an_observation_of_another_size) {
  EXPECT_EQ(said_of(WritesThree()),
            "observe() writes 3 numbers, but an observation has 2 numbers: set "
            "observation_size (or observation_shape) to what it writes");
  EXPECT_EQ(said_of(WritesTwoOfThree()),
            "observe() does not write number 2 of the observation, which has 3 numbers "
            "(0 to 2): set all of them each time, or observation_size to fewer");
}

TEST(EnvironmentCheckTest, names_a_number_that_is_not_finite) {
  EXPECT_EQ(said_of(SeesNan()), "number 1 of the observation after step 7 of an episode "
                                "is nan: observations must be finite");
  EXPECT_EQ(said_of(PaysInfinity()),
            "the reward of step 3 of an episode is inf: rewards must be finite");
}

TEST(EnvironmentCheckTest, says_where_an_environment_throws) {
  EXPECT_EQ(said_of<std::runtime_error>(ThrowsAtSeven()),
            "step() threw an exception at step 7 of an episode: the beam broke");
  EXPECT_EQ(said_of<std::runtime_error>(ThrowsInReset()),
            "reset() threw an exception: it is no std::exception");
}

TEST(EnvironmentCheckTest, says_where_an_environment_crashes) {
  EXPECT_EXIT(check_environment(*erase<CrashesAtSeven>()),
              testing::KilledBySignal(SIGSEGV),
              "^the environment crashed in step\\(\\) at step 7 of an episode\n$");
}

TEST(EnvironmentCheckTest, names_bounds_that_contradict_each_other) {
  EXPECT_EQ(said_of(BoundsSwapped()),
            "component 0 of an action has the lower bound 1 and the upper bound "
            "-1: the lower one must not be greater");
  EXPECT_EQ(said_of(HasSpaces(
              {.observation_shape = {2}, .action_low = {0, 0}, .action_high = {1}})),
            "actions have 2 lower and 1 upper bounds: there must be as many");
  EXPECT_EQ(said_of(HasSpaces({.observation_shape = {2}})),
            "there must be at least one discrete action, or bounds of continuous ones");
  EXPECT_EQ(said_of(HasSpaces({.observation_shape = {0}, .actions = 2})),
            "an observation must have at least one number");
}

Spaces with_parts(std::vector<ObservationPart> parts) {
  return {.observation_shape = {2}, .actions = 2, .observation_parts = std::move(parts)};
}

TEST(EnvironmentCheckTest, names_parts_that_are_not_those_of_an_observation) {
  EXPECT_EQ(
    said_of(HasSpaces(with_parts({{"ball", 2}, {"goal", 1}}))),
    "the parts of an observation have 3 numbers in all, but an observation has 2: "
    "set the sizes in observation_parts to what observe() writes");
  EXPECT_EQ(said_of(HasSpaces(with_parts({{"ball", 1}, {"ball", 1}}))),
            "each part of an observation needs a name of its own, unlike 'ball'");
}

TEST(SpacesTest, a_part_of_an_observation_is_found_by_its_name) {
  const auto spaces = with_parts({{"ball", 1}, {"goal", 1}});
  const std::vector<float> seen = {3, 4};
  EXPECT_EQ(spaces.part("goal").in(seen)[0], 4);
  EXPECT_EQ(spaces.part("ball").size, 1U);
  const auto error = [](const Spaces& of) {
    try {
      static_cast<void>(of.part("wall"));
    } catch (const std::invalid_argument& wrong) {
      return std::string(wrong.what());
    }
    return std::string();
  };
  EXPECT_EQ(error(spaces), "an observation has no part 'wall': there are ball, goal");
  EXPECT_EQ(error(with_parts({})),
            "an observation has no part 'wall': its parts have no names");
}

TEST(SpacesTest, parts_are_saved_and_do_not_decide_whether_a_policy_fits) {
  const auto spaces = with_parts({{"ball", 1}, {"goal", 1}});
  const FileLabel label{.kind = "spaces"};
  const auto copy = unpack_state<Spaces>("saved", pack_state(label, spaces), label);
  EXPECT_EQ(copy.part("goal").offset, 1U);
  EXPECT_EQ(copy, with_parts({}));
}

TEST(EnvironmentCheckTest, accepts_actions_without_bounds) {
  EXPECT_EQ(said_of(Unbounded()), "nothing");
}

TEST(EnvironmentCheckTest, accepts_our_environments) {
  for (const auto& name : environment_names())
    EXPECT_NO_THROW(check_environment(name)) << name;
}

TEST(EnvironmentCheckTest, names_the_environment) {
  register_environment<ThrowsAtSeven>("throws_at_seven");
  register_environment<BoundsSwapped>("bounds_swapped");
  auto beginning = [](const std::string& name) {
    try {
      check_environment(name);
    } catch (const std::exception& error) {
      return std::string(error.what()).substr(0, 36);
    }
    return std::string();
  };
  EXPECT_EQ(beginning("throws_at_seven"), "environment throws_at_seven: step() ");
  EXPECT_EQ(beginning("bounds_swapped"), "environment bounds_swapped: componen");
}

} // namespace
} // namespace fiber::rl
