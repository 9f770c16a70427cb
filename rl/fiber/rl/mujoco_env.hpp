// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include "fiber/rl/environment.hpp"
#include "fiber/rl/image.hpp"
#include "fiber/rl/random.hpp"

// Environments of models of your own. They need a build with MuJoCo (the CMake option
// FIBER_MUJOCO).

namespace fiber::rl {

/// A model for MuJoCo, and how an environment uses it.
struct MujocoModel {
  /// MJCF or URDF. Jobs read this file, too, so that it must be there on their machines.
  std::filesystem::path file = {};
  std::string xml = {}; ///< The model itself, in place of a file.
  int frame_skip = 1;   ///< Steps of the physics in a step of the environment.
  int step_limit = 1000;
  /// What each position and speed of a start is off the model's own, at most.
  double start_noise = 0.01;
  std::string name = "robot"; ///< For the texts of errors.
};

namespace detail {

/// What does not depend on the number of motors.
class MujocoTask {
public:
  /// Starts an episode.
  void reset(std::uint64_t seed);
  /// Writes the observation. Throws std::logic_error before the first reset().
  void observe(std::span<float> out) const;
  /// A picture from the side, drawn without a display.
  Image render() const;
  Spaces spaces() const;
  /// The engine and its version: "MuJoCo 2.2.2".
  static std::string physics();

protected:
  MujocoTask(const MujocoModel& model, std::size_t motors);
  MujocoTask(MujocoTask&&) noexcept;
  MujocoTask& operator=(MujocoTask&&) noexcept;
  virtual ~MujocoTask();

  Step act(std::span<const float> action);

  /// The reward of the step that has just been made.
  virtual double reward(std::span<const float> action) const = 0;
  /// Whether that step has ended the task. By default none does.
  virtual bool terminated() const;
  /// Makes the state in which an episode starts of the model's own, which `positions` and
  /// `velocities` are. By default adds start_noise.
  virtual void start(Random& random, std::span<double> positions,
                     std::span<double> velocities) const;
  /// The number of floats that look() writes.
  virtual std::size_t observation_size() const;
  /// Writes the observation; by default all positions, then all velocities.
  virtual void look(std::span<float> out) const;

  // The state, for the functions above. Names are those of the XML; one that is not there
  // is a std::invalid_argument that lists those that are.

  std::span<const double> positions() const;             ///< MuJoCo's qpos.
  std::span<const double> velocities() const;            ///< MuJoCo's qvel.
  double joint_position(const std::string& joint) const; ///< Of a hinge or a slide.
  double joint_velocity(const std::string& joint) const;
  std::array<double, 3> body_position(const std::string& body) const;
  /// The body's displacement in the last step, per second.
  std::array<double, 3> body_velocity(const std::string& body) const;
  std::array<double, 3> site_position(const std::string& site) const;
  /// What a sensor measured before the last step of the physics.
  std::span<const double> sensor(const std::string& sensor) const;
  double dt() const; ///< Seconds of simulated time in a step.

private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

} // namespace detail

/// A robot of your own: a model for MuJoCo, and a class that derives from MujocoEnv and
/// says what is rewarded:
///
///   class Cart : public fiber::rl::MujocoEnv<1> {
///   public:
///     Cart() : MujocoEnv({.file = "cart.xml", .frame_skip = 4}) {}
///
///   private:
///     double reward(std::span<const float> action) const override {
///       return body_velocity("cart")[0] - 0.1 * action[0] * action[0];
///     }
///     bool terminated() const override { return std::abs(joint_position("pole")) > 0.2;
///     }
///   };
///
/// detail::MujocoTask documents what can be overridden and what is known of the state.
/// The bounds of actions are the motors' ctrlrange.
///
/// The constructor throws std::invalid_argument, with MuJoCo's words and the line, for a
/// model that MuJoCo cannot compile; and for one with another number of motors or with a
/// motor without a ctrlrange.
///
/// Thread safety: none; it may move to another thread between calls.
template <std::size_t Motors>
class MujocoEnv : public detail::MujocoTask {
public:
  using Action = std::array<float, Motors>;

  /// Acts once. Throws std::invalid_argument for an action that is not finite,
  /// std::logic_error before the first reset(), and PhysicsDiverged, naming the model,
  /// the step and a joint, if the physics diverges.
  Step step(const Action& action) { return act(action); }

protected:
  explicit MujocoEnv(const MujocoModel& model) : MujocoTask(model, Motors) {}
};

} // namespace fiber::rl
