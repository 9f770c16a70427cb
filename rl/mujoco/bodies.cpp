// SPDX-License-Identifier: Apache-2.0
// Ant and Humanoid, which move in space. Constants are those of
// gymnasium/envs/mujoco/{ant,humanoid}_v{4,5}.py.

#include <algorithm>
#include <numeric>

#include "rl/mujoco/robot.hpp"

namespace fiber::rl::mujoco {
namespace {
namespace bodies {

/// The forces and torques on all bodies, from body `first` on.
std::span<const double> forces(const mjModel& model, const mjData& data, int first) {
  return values_of(data.cfrc_ext + std::ptrdiff_t{6} * first,
                   6LL * (static_cast<long long>(model.nbody) - first));
}

class Ant final : public Robot {
public:
  explicit Ant(MujocoVersion version)
    : Robot(built_in("ant"),
            {.name = "ant",
             .version = version,
             .frame_skip = 5,
             .observation_size = version == MujocoVersion::v4 ? 27u : 105u,
             .forces = version == MujocoVersion::v5,
             .view = {.height = 0.4, .distance = 3.8, .up = 25, .turn = 20}}) {}

private:
  void start(Random& random, std::span<double> positions,
             std::span<double> velocities) const override {
    add({.positions = 0.1, .velocities = 0.1, .normal = true}, random, positions,
        velocities);
  }

  double place() const override { return data().xpos[3]; } // The torso's x.

  Step judge(const Change& x, std::span<const float> action) const override {
    const double height = data().qpos[2];
    const bool healthy = height >= 0.2 && height <= 1;
    double reward =
      x.speed + (healthy || v4() ? 1.0 : 0.0) - 0.5 * sum_of_squares(action);
    if (!v4()) {
      double contact = 0;
      for (const auto force : forces(model(), data(), 0)) {
        const double clipped = std::clamp(force, -1.0, 1.0);
        contact += clipped * clipped;
      }
      reward -= 5e-4 * contact;
    }
    return {.reward = reward, .terminated = !healthy};
  }

  void look(std::span<float> out) const override {
    Row row(out);
    row.add(simulation().positions().subspan(2));
    row.add(simulation().velocities());
    if (!v4())
      row.add_clipped(forces(model(), data(), 1), 1);
  }
};

class Humanoid final : public Robot {
public:
  explicit Humanoid(MujocoVersion version)
    : Robot(built_in("humanoid"),
            {.name = "humanoid",
             .version = version,
             .frame_skip = 5,
             .observation_size = version == MujocoVersion::v4 ? 376u : 348u,
             .forces = true,
             .view = {.height = 1, .distance = 2.8, .up = 10, .turn = 30}}) {}

private:
  void start(Random& random, std::span<double> positions,
             std::span<double> velocities) const override {
    add({.positions = 0.01, .velocities = 0.01}, random, positions, velocities);
  }

  /// The x of the centre of mass.
  double place() const override {
    double moment = 0, mass = 0;
    for (int body = 0; body < model().nbody; ++body) {
      moment += model().body_mass[body] * data().xipos[std::ptrdiff_t{3} * body];
      mass += model().body_mass[body];
    }
    return moment / mass;
  }

  Step judge(const Change& x, std::span<const float> action) const override {
    const double height = data().qpos[2];
    const bool healthy = height > 1 && height < 2;
    double reward =
      1.25 * x.speed + (healthy || v4() ? 5.0 : 0.0) - 0.1 * sum_of_squares(action);
    if (!v4()) {
      const auto all = forces(model(), data(), 0);
      const double squares = std::inner_product(all.begin(), all.end(), all.begin(), 0.0);
      reward -= std::min(5e-7 * squares, 10.0);
    }
    return {.reward = reward, .terminated = !healthy};
  }

  /// v5 leaves out the world, and the root's joint, which has no motor.
  void look(std::span<float> out) const override {
    const int first = v4() ? 0 : 1;
    const auto bodies = static_cast<long long>(model().nbody) - first;
    const int joints = v4() ? 0 : 6;
    Row row(out);
    row.add(simulation().positions().subspan(2));
    row.add(simulation().velocities());
    row.add(values_of(data().cinert + std::ptrdiff_t{10} * first, 10 * bodies));
    row.add(values_of(data().cvel + std::ptrdiff_t{6} * first, 6 * bodies));
    row.add(values_of(data().qfrc_actuator + joints, model().nv - joints));
    row.add(forces(model(), data(), first));
  }
};

} // namespace bodies
} // namespace

std::unique_ptr<Robot> make_ant(MujocoVersion version) {
  return std::make_unique<bodies::Ant>(version);
}

std::unique_ptr<Robot> make_humanoid(MujocoVersion version) {
  return std::make_unique<bodies::Humanoid>(version);
}

} // namespace fiber::rl::mujoco
