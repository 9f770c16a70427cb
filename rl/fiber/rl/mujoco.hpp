// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "fiber/rl/environment.hpp"
#include "fiber/rl/image.hpp"

// Gymnasium's robots, whose physics is MuJoCo's. They need a build with MuJoCo (the CMake
// option FIBER_MUJOCO). For a robot of your own see mujoco_env.hpp.

namespace fiber::rl {

/// The version of a task in Gymnasium. v5 is the newest; published tables are of v4.
enum class MujocoVersion { v4 = 4, v5 = 5 };

namespace mujoco {
class Robot;
}

namespace detail {

/// What the robots have in common.
class MujocoRobot {
public:
  /// Starts an episode. The seed decides the noise that is added to the model's own
  /// state.
  void reset(std::uint64_t seed);

  /// Starts an episode in this state. `warm_start`, if not empty, has the accelerations
  /// from which MuJoCo's solver starts. Throws std::invalid_argument for another number
  /// of values than the model has.
  void set_state(std::span<const double> positions, std::span<const double> velocities,
                 std::span<const double> warm_start = {});

  /// Writes the observation. Throws std::logic_error before the first reset().
  void observe(std::span<float> out) const;

  /// A picture from the side, of a camera that follows the robot; drawn without a
  /// display. Throws std::logic_error before the first reset().
  Image render() const;

  Spaces spaces() const;

  /// The engine and its version: "MuJoCo 2.2.2".
  static std::string physics();

protected:
  explicit MujocoRobot(std::unique_ptr<mujoco::Robot> robot);
  MujocoRobot(MujocoRobot&&) noexcept;
  MujocoRobot& operator=(MujocoRobot&&) noexcept;
  ~MujocoRobot();

  Step act(std::span<const float> action);

private:
  std::unique_ptr<mujoco::Robot> robot_;
};

/// The same with a number of motors.
template <std::size_t Motors>
class MujocoRobotWith : public MujocoRobot {
public:
  using Action = std::array<float, Motors>;

  /// Acts once. MuJoCo limits what a motor does to spaces(); the reward counts the action
  /// as given. Throws std::invalid_argument for an action that is not finite,
  /// std::logic_error before the first reset(), and PhysicsDiverged, naming the
  /// environment, the step and a joint, if the physics diverges.
  Step step(const Action& action) { return act(action); }

protected:
  using MujocoRobot::MujocoRobot;
};

} // namespace detail

/// Gymnasium's InvertedPendulum: a motor pushes a cart on a rail, on which a pole must
/// stay upright.
///
/// Observation: the cart's position, the pole's angle, and their speeds. The reward is 1
/// for each step; in v5 the last step of a fall has none. An episode ends when the angle
/// exceeds 0.2, and is truncated after 1,000 steps.
///
/// For all robots: the same seed and actions give the same rows in each process with the
/// same version of MuJoCo. The random numbers are not Gymnasium's, so a seed gives
/// another episode than there. Rewards are computed in double precision; Gymnasium adds
/// up the squares of float32 actions in float32. An observation is Gymnasium's, as
/// floats.
///
/// Thread safety: none; a robot may move to another thread between calls. Robots share
/// their compiled model, which nothing changes.
class InvertedPendulum : public detail::MujocoRobotWith<1> {
public:
  explicit InvertedPendulum(MujocoVersion version = MujocoVersion::v5);
};

/// Gymnasium's InvertedDoublePendulum: a second pole stands on the first.
///
/// Observation: the cart's position, the sines and the cosines of the two angles, the
/// three speeds, and the force that the rail's end exerts on the cart (v4: the forces on
/// all three joints), the last two limited to 10. The reward is 10 - 0.01 x^2 - (y - 2)^2
/// of the tip, less 1e-3 and 5e-3 times the squared angular speeds; in v5 a fall has
/// no 10. An episode ends when the tip is at most 1 high, and is truncated after 1,000
/// steps.
class InvertedDoublePendulum : public detail::MujocoRobotWith<1> {
public:
  explicit InvertedDoublePendulum(MujocoVersion version = MujocoVersion::v5);
};

/// Gymnasium's Reacher: an arm of two links must bring its fingertip to a random target.
///
/// Observation: cosines and sines of the two angles, the target's position, the two
/// angular speeds, and from the target to the fingertip: x and y (v4: and z). The reward
/// is
/// - distance - the sum of the squared actions; v4 takes the distance before the step. An
/// episode is truncated after 50 steps.
class Reacher : public detail::MujocoRobotWith<2> {
public:
  explicit Reacher(MujocoVersion version = MujocoVersion::v5);
};

/// Gymnasium's Swimmer: three links swim in the plane. v4 and v5 are the same.
///
/// Observation: three angles and five speeds. The reward is the speed along x - 1e-4
/// times the sum of the squared actions. An episode is truncated after 1,000 steps.
class Swimmer : public detail::MujocoRobotWith<2> {
public:
  Swimmer();
};

/// Gymnasium's Hopper: one leg hops along x.
///
/// Observation: height, four angles, and six speeds, limited to 10. The reward is the
/// speed along x + 1 - 1e-3 times the sum of the squared actions; in v5 a fall has no 1.
/// An episode ends when the torso is at most 0.7 high, leans by 0.2 or more, or a part of
/// the state reaches 100; it is truncated after 1,000 steps.
class Hopper : public detail::MujocoRobotWith<3> {
public:
  explicit Hopper(MujocoVersion version = MujocoVersion::v5);
};

/// Gymnasium's HalfCheetah: a hind leg and a foreleg run along x. v4 and v5 are the same.
///
/// Observation: height, seven angles, nine speeds. The reward is the speed along x - 0.1
/// times the sum of the squared actions. An episode is truncated after 1,000 steps.
class HalfCheetah : public detail::MujocoRobotWith<6> {
public:
  HalfCheetah();
};

/// Gymnasium's Walker2d: two legs walk along x. In v4 the feet have different friction.
///
/// Observation: height, seven angles, and nine speeds, limited to 10. The reward is
/// Hopper's. An episode ends when the torso's height leaves 0.8 to 2 or it leans by 1 or
/// more; it is truncated after 1,000 steps.
class Walker2d : public detail::MujocoRobotWith<6> {
public:
  explicit Walker2d(MujocoVersion version = MujocoVersion::v5);
};

/// Gymnasium's Ant: a ball on four legs walks along x.
///
/// Observation: height, orientation, eight angles, fourteen speeds; in v5 also the
/// contact forces on 13 parts, each limited to 1. The reward is the torso's speed along x
/// + 1 - 0.5 times the sum of the squared actions; v5 subtracts 5e-4 times the squares of
/// the contact forces, and has no 1 after a fall. An episode ends when the torso's height
/// leaves 0.2 to 1, and is truncated after 1,000 steps.
class Ant : public detail::MujocoRobotWith<8> {
public:
  explicit Ant(MujocoVersion version = MujocoVersion::v5);
};

/// Gymnasium's Humanoid: a person walks along x.
///
/// Observation: height, orientation, 17 angles, 23 speeds, and of each part its inertia,
/// velocity and contact forces, and of each joint the motor's force; v4 also has those of
/// the world and of the root, which are 0. The reward is 1.25 times the speed of the
/// centre of mass along x + 5 - 0.1 times the sum of the squared actions; v5 subtracts
/// 5e-7 times the squares of the contact forces, at most 10, and has no 5 after a fall.
/// An episode ends when the torso's height leaves 1 to 2, and is truncated after 1,000
/// steps.
class Humanoid : public detail::MujocoRobotWith<17> {
public:
  explicit Humanoid(MujocoVersion version = MujocoVersion::v5);
};

} // namespace fiber::rl
