// SPDX-License-Identifier: Apache-2.0
#include "rl/mujoco/robot.hpp"

#include <stdexcept>
#include <utility>
#include <vector>

namespace fiber::rl::mujoco {

Robot::Robot(Model model, Plan plan)
  : plan_(std::move(plan)), simulation_(std::move(model), plan_.name, plan_.frame_skip) {}

Spaces Robot::spaces() const {
  return spaces_of(model(), plan_.observation_size);
}

void Robot::add(const Noise& noise, Random& random, std::span<double> positions,
                std::span<double> velocities) {
  for (auto& position : positions)
    position += random.uniform(-noise.positions, noise.positions);
  for (auto& velocity : velocities)
    velocity += noise.normal ? noise.velocities * random.normal()
                             : random.uniform(-noise.velocities, noise.velocities);
}

void Robot::reset(std::uint64_t seed) {
  Random random(seed);
  simulation_.clear();
  const auto own_positions = simulation_.positions();
  const auto own_velocities = simulation_.velocities();
  std::vector<double> positions(own_positions.begin(), own_positions.end());
  std::vector<double> velocities(own_velocities.begin(), own_velocities.end());
  start(random, positions, velocities);
  simulation_.set(positions, velocities);
  steps_ = 0;
}

void Robot::set_state(std::span<const double> positions,
                      std::span<const double> velocities,
                      std::span<const double> warm_start) {
  simulation_.clear();
  simulation_.set(positions, velocities);
  if (!warm_start.empty())
    simulation_.set_warm_start(warm_start);
  steps_ = 0;
}

Step Robot::step(std::span<const float> action) {
  require_episode("step");
  const double before = place();
  simulation_.act(action, steps_ + 1, plan_.forces);
  const double after = place();
  auto result = judge({before, after, (after - before) / simulation_.dt()}, action);
  result.truncated = ++steps_ >= plan_.step_limit;
  return result;
}

void Robot::observe(std::span<float> out) const {
  require_episode("observe");
  look(out);
}

Image Robot::render() const {
  require_episode("render");
  return picture(simulation_, plan_.view);
}

void Robot::require_episode(const char* call) const {
  if (steps_ < 0)
    throw std::logic_error(plan_.name + ": " + call + "() before the first reset()");
}

} // namespace fiber::rl::mujoco
