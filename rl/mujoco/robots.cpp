// SPDX-License-Identifier: Apache-2.0
// The public classes, each of which is a Robot.
#include "fiber/rl/mujoco.hpp"

#include <utility>

#include "rl/mujoco/robot.hpp"

namespace fiber::rl {

detail::MujocoRobot::MujocoRobot(std::unique_ptr<mujoco::Robot> robot)
  : robot_(std::move(robot)) {}
detail::MujocoRobot::MujocoRobot(MujocoRobot&&) noexcept = default;
detail::MujocoRobot& detail::MujocoRobot::operator=(MujocoRobot&&) noexcept = default;
detail::MujocoRobot::~MujocoRobot() = default;

void detail::MujocoRobot::reset(std::uint64_t seed) {
  robot_->reset(seed);
}

void detail::MujocoRobot::set_state(std::span<const double> positions,
                                    std::span<const double> velocities,
                                    std::span<const double> warm_start) {
  robot_->set_state(positions, velocities, warm_start);
}

void detail::MujocoRobot::observe(std::span<float> out) const {
  robot_->observe(out);
}

Image detail::MujocoRobot::render() const {
  return robot_->render();
}

Spaces detail::MujocoRobot::spaces() const {
  return robot_->spaces();
}

std::string detail::MujocoRobot::physics() {
  return mujoco::version();
}

Step detail::MujocoRobot::act(std::span<const float> action) {
  return robot_->step(action);
}

InvertedPendulum::InvertedPendulum(MujocoVersion version)
  : MujocoRobotWith(mujoco::make_inverted_pendulum(version)) {}
InvertedDoublePendulum::InvertedDoublePendulum(MujocoVersion version)
  : MujocoRobotWith(mujoco::make_inverted_double_pendulum(version)) {}
Reacher::Reacher(MujocoVersion version)
  : MujocoRobotWith(mujoco::make_reacher(version)) {}
Swimmer::Swimmer() : MujocoRobotWith(mujoco::make_swimmer()) {}
Hopper::Hopper(MujocoVersion version) : MujocoRobotWith(mujoco::make_hopper(version)) {}
HalfCheetah::HalfCheetah() : MujocoRobotWith(mujoco::make_half_cheetah()) {}
Walker2d::Walker2d(MujocoVersion version)
  : MujocoRobotWith(mujoco::make_walker2d(version)) {}
Ant::Ant(MujocoVersion version) : MujocoRobotWith(mujoco::make_ant(version)) {}
Humanoid::Humanoid(MujocoVersion version)
  : MujocoRobotWith(mujoco::make_humanoid(version)) {}

} // namespace fiber::rl
