// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "fiber/rl/environment.hpp"
#include "rl/mujoco/model.hpp"

namespace fiber::rl::mujoco {

/// The spaces of an environment with this model. Each motor has bounds.
Spaces spaces_of(const mjModel& model, std::size_t observation_size);

/// A model in motion. Nothing is allocated after construction.
class Simulation {
public:
  /// An act() is `frame_skip` steps of the physics. Throws std::invalid_argument if that
  /// is less than 1.
  Simulation(Model model, std::string name, int frame_skip);

  const mjModel& model() const { return *model_; }
  const mjData& data() const { return *data_; }
  const std::string& name() const { return name_; }
  /// The seconds of an act().
  double dt() const { return model_->opt.timestep * frame_skip_; }

  std::span<const double> positions() const { return {data_->qpos, size(model_->nq)}; }
  std::span<const double> velocities() const { return {data_->qvel, size(model_->nv)}; }

  /// Back to the model's own state: the time is 0, all speeds and forces are 0.
  void clear();
  /// Sets the state, and computes what follows from it.
  void set(std::span<const double> positions, std::span<const double> velocities);
  /// The guess from which the solver starts in the next step.
  void set_warm_start(std::span<const double> accelerations);

  /// Acts for dt(). `forces`: also computes the forces on each body, cfrc_ext. Throws
  /// std::invalid_argument for an action that is not finite, and std::domain_error,
  /// naming the step, if the physics diverges.
  void act(std::span<const float> action, int step, bool forces);

  /// Computes the places of bodies and sites anew: act() leaves those from before its
  /// last step of the physics.
  void place_bodies();

private:
  static std::size_t size(long long count) { return static_cast<std::size_t>(count); }
  void check(int step) const;

  Model model_;
  std::unique_ptr<mjData, decltype(&mj_deleteData)> data_;
  std::string name_;
  int frame_skip_;
};

} // namespace fiber::rl::mujoco
