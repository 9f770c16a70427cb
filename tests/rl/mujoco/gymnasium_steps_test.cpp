// SPDX-License-Identifier: Apache-2.0
// The robots are Gymnasium's: from recorded states a step leads to the same observation,
// the same reward and the same end. record_mujoco.py made the recordings.

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "fiber/rl/mujoco.hpp"
#include "tests/rl/env/recording.hpp"

namespace fiber::rl {
namespace {

static_assert(Environment<InvertedPendulum> && Environment<Reacher> &&
              Environment<Hopper> && Environment<Humanoid>);

/// What a recorded step may differ by.
struct Tolerance {
  double reward = 0;
  double observation = 0; ///< Relative to the larger of 1 and the number.
};

// A float has 24 bits.
constexpr Tolerance exact{1e-9, 0x1p-23};

/// The recordings are of this version.
bool as_recorded() {
  return Humanoid::physics() == "MuJoCo 3.3.7";
}

/// The solver of Humanoid stops before it has converged, so that versions of MuJoCo
/// differ when parts touch.
Tolerance of_humanoid() {
  return as_recorded() ? exact : Tolerance{1e-4, 1e-4};
}

/// Follows a recording.
template <class Robot>
class Follower {
public:
  Follower(Robot robot, const Tolerance& tolerance)
    : robot_(std::move(robot)), tolerance_(tolerance) {}

  void follow(const std::string& file) {
    for (const auto& line : recording::lines(file + ".txt")) {
      if (line.key == "state")
        set_state(line.values);
      if (line.key == "action")
        act(line.values);
      if (line.key == "reward")
        compare(line.values);
      if (line.key == "observation")
        look(line.values);
    }
    EXPECT_GT(steps_, 2);
  }

private:
  void set_state(const std::vector<double>& values) {
    // A free joint has one position more than velocities.
    const auto velocities = values.size() / 3;
    const auto positions = values.size() - 2 * velocities;
    const std::span all(values);
    robot_.set_state(all.first(positions), all.subspan(positions, velocities),
                     all.last(velocities));
  }

  void act(const std::vector<double>& values) {
    typename Robot::Action action;
    ASSERT_EQ(values.size(), action.size());
    for (std::size_t i = 0; i < action.size(); ++i)
      action[i] = static_cast<float>(values[i]);
    result_ = robot_.step(action);
    ++steps_;
  }

  void compare(const std::vector<double>& values) const {
    EXPECT_NEAR(result_.reward, values.at(0), tolerance_.reward) << "step " << steps_;
    EXPECT_EQ(result_.terminated, values.at(1) == 1) << "step " << steps_;
  }

  void look(const std::vector<double>& values) const {
    std::vector<float> seen(robot_.spaces().observation_size());
    ASSERT_EQ(seen.size(), values.size());
    robot_.observe(seen);
    for (std::size_t i = 0; i < seen.size(); ++i)
      EXPECT_NEAR(seen[i], values[i],
                  tolerance_.observation * std::max(1.0, std::abs(values[i])))
        << "number " << i << " after step " << steps_;
  }

  Robot robot_;
  Tolerance tolerance_;
  Step result_;
  int steps_ = 0;
};

template <class Robot>
void follow(const std::string& file, Robot robot, const Tolerance& tolerance) {
  SCOPED_TRACE(file);
  Follower<Robot>(std::move(robot), tolerance).follow(file);
}

template <class Robot>
void follow_both(const std::string& name, const Tolerance& tolerance) {
  follow(name, Robot(), tolerance);
  follow(name + "_v4", Robot(MujocoVersion::v4), tolerance);
}

class MujocoStepsTest : public testing::Test {
protected:
  void SetUp() override {
    if (!as_recorded() && Humanoid::physics() != "MuJoCo 2.2.2")
      GTEST_SKIP() << Humanoid::physics() << " has other contacts than what was recorded";
  }
};

TEST_F(MujocoStepsTest, inverted_pendulum) {
  follow_both<InvertedPendulum>("inverted_pendulum", exact);
}

TEST_F(MujocoStepsTest, inverted_double_pendulum) {
  follow_both<InvertedDoublePendulum>("inverted_double_pendulum", exact);
}

TEST_F(MujocoStepsTest, reacher) {
  follow_both<Reacher>("reacher", exact);
}

TEST_F(MujocoStepsTest, swimmer) {
  follow("swimmer", Swimmer(), exact);
}

TEST_F(MujocoStepsTest, hopper) {
  follow_both<Hopper>("hopper", exact);
}

TEST_F(MujocoStepsTest, half_cheetah) {
  follow("half_cheetah", HalfCheetah(), exact);
}

TEST_F(MujocoStepsTest, walker2d) {
  follow_both<Walker2d>("walker2d", exact);
}

TEST_F(MujocoStepsTest, ant) {
  follow_both<Ant>("ant", exact);
}

TEST_F(MujocoStepsTest, humanoid) {
  follow_both<Humanoid>("humanoid", of_humanoid());
}

} // namespace
} // namespace fiber::rl
