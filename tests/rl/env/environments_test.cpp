// SPDX-License-Identifier: Apache-2.0
// Every name that environment_names() gives makes an environment that can be played, and
// the error for another name says what to do.

#include "fiber/rl/environments.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/rl/env/possible_action.hpp"

namespace fiber::rl {
namespace {

std::string error_for(const std::string& name) {
  try {
    make_environment(name);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "no error";
}

TEST(EnvironmentsTest, each_name_makes_an_environment_that_can_be_played) {
  const auto names = environment_names();
  EXPECT_GE(names.size(), 4u);
  for (const auto& name : names) {
    SCOPED_TRACE(name);
    auto environment = make_environment(name);
    const auto spaces = environment->spaces();
    environment->reset(1);
    environment->step(possible_action(*environment, 0));
    std::vector<float> seen(spaces.observation_size(), NAN);
    environment->observe(seen);
    EXPECT_TRUE(
      std::ranges::all_of(seen, [](float value) { return std::isfinite(value); }));
  }
}

TEST(EnvironmentsTest, an_unknown_name_gets_those_there_are) {
  const auto error = error_for("cartpool");
  EXPECT_NE(error.find("no environment cartpool; there are cartpole, "), error.npos)
    << error;
  for (const auto& name : environment_names())
    EXPECT_NE(error.find(name), error.npos) << name << " is not in: " << error;
}

/// Counts to three.
struct Counter {
  using Action = int;
  static constexpr int actions = 1;
  static constexpr std::size_t observation_size = 1;
  void reset(std::uint64_t) { count = 0; }
  Step step(Action) { return {.reward = 1, .terminated = ++count == 3}; }
  void observe(std::span<float> out) const { out[0] = static_cast<float>(count); }
  int count = 0;
};

TEST(EnvironmentsTest, a_registered_environment_is_found_by_its_name) {
  register_environment<Counter>("counter");
  EXPECT_EQ(environment_names().back(), "counter");
  auto counter = make_environment("counter");
  counter->reset(1);
  const std::vector<float> action(1);
  counter->step(action);
  counter->step(action);
  EXPECT_TRUE(counter->step(action).terminated);
}

TEST(EnvironmentsTest, a_name_can_be_registered_once) {
  EXPECT_THROW(register_environment<Counter>("cartpole"), std::invalid_argument);
  EXPECT_THROW(register_environment<Counter>(""), std::invalid_argument);
}

// This program is not linked with fiber::rl_gym.
TEST(EnvironmentsTest, a_name_of_gymnasium_gets_what_a_program_without_it_lacks) {
  for (const std::string name : {"CartPole-v1", "ALE/Breakout-v5"})
    EXPECT_NE(error_for(name).find("link fiber::rl_gym"), std::string::npos) << name;
}

TEST(EnvironmentsTest, a_build_without_box2d_names_the_package) {
  const auto names = environment_names();
  for (const std::string name :
       {"lunar_lander", "bipedal_walker", "bipedal_walker_hardcore"})
    if (std::ranges::count(names, name) == 0) {
      EXPECT_NE(error_for(name).find("libbox2d-dev"), std::string::npos) << name;
    }
}

TEST(EnvironmentsTest, a_build_without_mujoco_names_the_package_and_the_option) {
  const auto names = environment_names();
  for (const std::string name :
       {"inverted_pendulum", "inverted_double_pendulum", "reacher", "swimmer", "hopper",
        "half_cheetah", "walker2d", "ant", "humanoid", "hopper_v4"})
    if (std::ranges::count(names, name) == 0) {
      EXPECT_NE(error_for(name).find("libmujoco-dev"), std::string::npos) << name;
      EXPECT_NE(error_for(name).find("FIBER_MUJOCO"), std::string::npos) << name;
    }
}

TEST(EnvironmentsTest, an_environment_names_its_physics_engine_and_the_version) {
  for (const auto& name : environment_names()) {
    if (name == "hopper" || name == "ant_v4") {
      EXPECT_TRUE(physics_engine(name).starts_with("MuJoCo ")) << physics_engine(name);
    }
    if (name == "lunar_lander") {
      EXPECT_TRUE(physics_engine(name).starts_with("Box2D 2.")) << physics_engine(name);
    }
  }
  EXPECT_EQ(physics_engine("cartpole"), "");
  EXPECT_EQ(physics_engine("none"), "");
}

struct OwnEngine : Counter {
  static std::string physics() { return "Own 1"; }
};

TEST(EnvironmentsTest, a_class_can_name_its_physics_engine) {
  register_environment<OwnEngine>("own_engine");
  EXPECT_EQ(physics_engine("own_engine"), "Own 1");
}

} // namespace
} // namespace fiber::rl
