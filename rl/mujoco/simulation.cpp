// SPDX-License-Identifier: Apache-2.0
#include "rl/mujoco/simulation.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>
#include <utility>

namespace fiber::rl::mujoco {
namespace {
namespace divergence {

struct Kind {
  int warning;
  const char* quantity;
};

// After one of these MuJoCo resets the state by itself.
constexpr std::array kinds = {Kind{mjWARN_BADQPOS, "a position"},
                              Kind{mjWARN_BADQVEL, "a velocity"},
                              Kind{mjWARN_BADQACC, "an acceleration"}};

bool bad(double value) {
  return !(std::abs(value) <= mjMAXVAL);
}

std::string joint_of(const mjModel& model, int warning, int index) {
  int joint = -1;
  if (warning == mjWARN_BADQPOS) {
    for (int i = 0; i < model.njnt && model.jnt_qposadr[i] <= index; ++i)
      joint = i;
  } else if (index >= 0 && index < model.nv) {
    joint = model.dof_jntid[index];
  }
  const char* name = joint < 0 ? nullptr : mj_id2name(&model, mjOBJ_JOINT, joint);
  return name && *name ? std::string(name) : std::to_string(joint);
}

[[noreturn]] void report(const Simulation& simulation, int step, const char* quantity,
                         int warning, int index) {
  throw PhysicsDiverged(simulation.name() + ": the physics diverged in step " +
                        std::to_string(step) + " of the episode: " + quantity +
                        " of joint " + joint_of(simulation.model(), warning, index) +
                        " is not a number or beyond 1e10 (" + version() +
                        "). Smaller actions or a smaller time step keep a model stable");
}

} // namespace divergence
} // namespace

Spaces spaces_of(const mjModel& model, std::size_t observation_size) {
  Spaces spaces{.observation_shape = {observation_size}};
  for (std::ptrdiff_t motor = 0; motor < model.nu; ++motor) {
    spaces.action_low.push_back(static_cast<float>(model.actuator_ctrlrange[2 * motor]));
    spaces.action_high.push_back(
      static_cast<float>(model.actuator_ctrlrange[2 * motor + 1]));
  }
  return spaces;
}

Simulation::Simulation(Model model, std::string name, int frame_skip)
  : model_(std::move(model)), data_(mj_makeData(model_.get()), &mj_deleteData),
    name_(std::move(name)), frame_skip_(frame_skip) {
  if (frame_skip < 1)
    throw std::invalid_argument(name_ + ": frame_skip is " + std::to_string(frame_skip) +
                                "; it must be at least 1");
}

void Simulation::clear() {
  mj_resetData(model_.get(), data_.get());
}

void Simulation::set(std::span<const double> positions,
                     std::span<const double> velocities) {
  if (positions.size() != size(model_->nq) || velocities.size() != size(model_->nv))
    throw std::invalid_argument(name_ + ": a state has " + std::to_string(model_->nq) +
                                " positions and " + std::to_string(model_->nv) +
                                " velocities, not " + std::to_string(positions.size()) +
                                " and " + std::to_string(velocities.size()));
  std::ranges::copy(positions, data_->qpos);
  std::ranges::copy(velocities, data_->qvel);
  mj_forward(model_.get(), data_.get());
}

void Simulation::set_warm_start(std::span<const double> accelerations) {
  if (accelerations.size() != size(model_->nv))
    throw std::invalid_argument(name_ + ": a warm start has " +
                                std::to_string(model_->nv) + " accelerations, not " +
                                std::to_string(accelerations.size()));
  std::ranges::copy(accelerations, data_->qacc_warmstart);
}

void Simulation::act(std::span<const float> action, int step, bool forces) {
  for (std::size_t i = 0; i < action.size(); ++i) {
    if (!std::isfinite(action[i]))
      throw std::invalid_argument(name_ + ": number " + std::to_string(i) +
                                  " of the action of step " + std::to_string(step) +
                                  " is not finite");
    data_->ctrl[i] = action[i];
  }
  for (int i = 0; i < frame_skip_; ++i)
    mj_step(model_.get(), data_.get());
  check(step);
  if (forces)
    mj_rnePostConstraint(model_.get(), data_.get());
}

void Simulation::place_bodies() {
  mj_kinematics(model_.get(), data_.get());
}

void Simulation::check(int step) const {
  using namespace divergence;
  for (const auto& [warning, what] : {std::pair(mjWARN_CONTACTFULL, "contacts"),
                                      std::pair(mjWARN_CNSTRFULL, "constraints")})
    if (data_->warning[warning].number > 0)
      throw std::runtime_error(
        name_ + ": MuJoCo had no room for all " + what + " in step " +
        std::to_string(step) +
        R"( of the episode: give the model <size nconmax="1000" njmax="5000"/>, or from )"
        R"(MuJoCo 2.3 on <size memory="100M"/>)");
  for (const auto& [warning, quantity] : kinds)
    if (data_->warning[warning].number > 0)
      report(*this, step, quantity, warning, data_->warning[warning].lastinfo);
  // What the last of the steps led to: MuJoCo would see it in the next one.
  const auto found = [&](std::span<const double> values, const Kind& kind) {
    if (const auto at = std::ranges::find_if(values, bad); at != values.end())
      report(*this, step, kind.quantity, kind.warning,
             static_cast<int>(at - values.begin()));
  };
  found(positions(), kinds[0]);
  found(velocities(), kinds[1]);
}

} // namespace fiber::rl::mujoco
