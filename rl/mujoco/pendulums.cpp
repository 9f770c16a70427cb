// SPDX-License-Identifier: Apache-2.0
// InvertedPendulum, InvertedDoublePendulum and Reacher. Constants are those of
// gymnasium/envs/mujoco/{inverted_pendulum,inverted_double_pendulum,reacher}_v{4,5}.py.

#include <cmath>

#include "rl/mujoco/robot.hpp"

namespace fiber::rl::mujoco {
namespace {
namespace pendulums {

class InvertedPendulum final : public Robot {
public:
  explicit InvertedPendulum(MujocoVersion version)
    : Robot(built_in("inverted_pendulum"),
            {.name = "inverted_pendulum",
             .version = version,
             .frame_skip = 2,
             .observation_size = 4,
             .view = {.follows = false, .height = 0.25, .distance = 2.4, .up = 6}}) {}

private:
  void start(Random& random, std::span<double> positions,
             std::span<double> velocities) const override {
    add({.positions = 0.01, .velocities = 0.01}, random, positions, velocities);
  }

  Step judge(const Change&, std::span<const float>) const override {
    const bool fallen = std::abs(data().qpos[1]) > 0.2;
    return {.reward = fallen && !v4() ? 0.0 : 1.0, .terminated = fallen};
  }

  void look(std::span<float> out) const override {
    Row row(out);
    row.add(simulation().positions());
    row.add(simulation().velocities());
  }
};

class InvertedDoublePendulum final : public Robot {
public:
  explicit InvertedDoublePendulum(MujocoVersion version)
    : Robot(built_in("inverted_double_pendulum"),
            {.name = "inverted_double_pendulum",
             .version = version,
             .frame_skip = 5,
             .observation_size = version == MujocoVersion::v4 ? 11u : 9u,
             .view = {.follows = false, .height = 0.5, .distance = 3.2, .up = 6}}) {}

private:
  void start(Random& random, std::span<double> positions,
             std::span<double> velocities) const override {
    add({.positions = 0.1, .velocities = 0.1, .normal = true}, random, positions,
        velocities);
  }

  Step judge(const Change&, std::span<const float>) const override {
    const double x = data().site_xpos[0], height = data().site_xpos[2];
    const double lower = data().qvel[1], upper = data().qvel[2];
    const bool fallen = height <= 1;
    const double alive = fallen && !v4() ? 0 : 10;
    return {.reward = alive - (0.01 * x * x + (height - 2) * (height - 2)) -
                      (1e-3 * lower * lower + 5e-3 * upper * upper),
            .terminated = fallen};
  }

  void look(std::span<float> out) const override {
    Row row(out);
    row.add(data().qpos[0]);
    for (int pole : {1, 2})
      row.add(std::sin(data().qpos[pole]));
    for (int pole : {1, 2})
      row.add(std::cos(data().qpos[pole]));
    row.add_clipped(simulation().velocities(), 10);
    row.add_clipped(values_of(data().qfrc_constraint, v4() ? 3 : 1), 10);
  }
};

class Reacher final : public Robot {
public:
  explicit Reacher(MujocoVersion version)
    : Robot(built_in("reacher"),
            {.name = "reacher",
             .version = version,
             .frame_skip = 2,
             .step_limit = 50,
             .observation_size = version == MujocoVersion::v4 ? 11u : 10u,
             .view = {.follows = false, .distance = 0.95, .up = 75}}),
      fingertip_(mj_name2id(&model(), mjOBJ_BODY, "fingertip")),
      target_(mj_name2id(&model(), mjOBJ_BODY, "target")) {}

private:
  void start(Random& random, std::span<double> positions,
             std::span<double> velocities) const override {
    add({.positions = 0.1, .velocities = 0.005}, random, positions, velocities);
    do {
      positions[2] = random.uniform(-0.2, 0.2);
      positions[3] = random.uniform(-0.2, 0.2);
    } while (std::hypot(positions[2], positions[3]) >= 0.2);
    velocities[2] = velocities[3] = 0;
  }

  double away(int axis) const {
    return data().xpos[3 * fingertip_ + axis] - data().xpos[3 * target_ + axis];
  }

  double place() const override { return std::hypot(away(0), away(1), away(2)); }

  Step judge(const Change& distance, std::span<const float> action) const override {
    return {.reward =
              -(v4() ? distance.before : distance.after) - sum_of_squares(action)};
  }

  void look(std::span<float> out) const override {
    Row row(out);
    for (int joint : {0, 1})
      row.add(std::cos(data().qpos[joint]));
    for (int joint : {0, 1})
      row.add(std::sin(data().qpos[joint]));
    row.add(values_of(data().qpos + 2, 2));
    row.add(values_of(data().qvel, 2));
    for (int axis = 0; axis < (v4() ? 3 : 2); ++axis)
      row.add(away(axis));
  }

  int fingertip_, target_;
};

} // namespace pendulums
} // namespace

std::unique_ptr<Robot> make_inverted_pendulum(MujocoVersion version) {
  return std::make_unique<pendulums::InvertedPendulum>(version);
}

std::unique_ptr<Robot> make_inverted_double_pendulum(MujocoVersion version) {
  return std::make_unique<pendulums::InvertedDoublePendulum>(version);
}

std::unique_ptr<Robot> make_reacher(MujocoVersion version) {
  return std::make_unique<pendulums::Reacher>(version);
}

} // namespace fiber::rl::mujoco
