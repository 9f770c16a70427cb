// SPDX-License-Identifier: Apache-2.0
// Swimmer, Hopper, HalfCheetah and Walker2d, which move in a plane. Constants are those
// of gymnasium/envs/mujoco/{swimmer,hopper,half_cheetah,walker2d}_v{4,5}.py.

#include <algorithm>
#include <cmath>

#include "rl/mujoco/robot.hpp"

namespace fiber::rl::mujoco {
namespace {
namespace runners {

class Swimmer final : public Robot {
public:
  Swimmer()
    : Robot(built_in("swimmer"), {.name = "swimmer",
                                  .frame_skip = 4,
                                  .observation_size = 8,
                                  .view = {.distance = 5.5, .up = 55}}) {}

private:
  void start(Random& random, std::span<double> positions,
             std::span<double> velocities) const override {
    add({.positions = 0.1, .velocities = 0.1}, random, positions, velocities);
  }

  Step judge(const Change& x, std::span<const float> action) const override {
    return {.reward = x.speed - 1e-4 * sum_of_squares(action)};
  }

  void look(std::span<float> out) const override {
    Row row(out);
    row.add(simulation().positions().subspan(2));
    row.add(simulation().velocities());
  }
};

class HalfCheetah final : public Robot {
public:
  HalfCheetah()
    : Robot(built_in("half_cheetah"),
            {.name = "half_cheetah",
             .frame_skip = 5,
             .observation_size = 17,
             .view = {.height = 0.45, .distance = 2.5, .up = 8}}) {}

private:
  void start(Random& random, std::span<double> positions,
             std::span<double> velocities) const override {
    add({.positions = 0.1, .velocities = 0.1, .normal = true}, random, positions,
        velocities);
  }

  Step judge(const Change& x, std::span<const float> action) const override {
    return {.reward = x.speed - 0.1 * sum_of_squares(action)};
  }

  void look(std::span<float> out) const override {
    Row row(out);
    row.add(simulation().positions().subspan(1));
    row.add(simulation().velocities());
  }
};

/// Hopper and Walker2d: an episode ends when the torso falls.
class Upright : public Robot {
protected:
  using Robot::Robot;

private:
  virtual bool stands() const = 0;

  void start(Random& random, std::span<double> positions,
             std::span<double> velocities) const final {
    add({.positions = 5e-3, .velocities = 5e-3}, random, positions, velocities);
  }

  Step judge(const Change& x, std::span<const float> action) const final {
    const bool healthy = stands();
    return {.reward =
              x.speed + (healthy || v4() ? 1.0 : 0.0) - 1e-3 * sum_of_squares(action),
            .terminated = !healthy};
  }

  void look(std::span<float> out) const final {
    Row row(out);
    row.add(simulation().positions().subspan(1));
    row.add_clipped(simulation().velocities(), 10);
  }
};

class Hopper final : public Upright {
public:
  explicit Hopper(MujocoVersion version)
    : Upright(built_in("hopper"), {.name = "hopper",
                                   .version = version,
                                   .frame_skip = 4,
                                   .observation_size = 11,
                                   .view = {.height = 0.75, .distance = 2.7, .up = 8}}) {}

private:
  bool stands() const override {
    const auto inside = [](double value) { return std::abs(value) < 100; };
    return data().qpos[1] > 0.7 && std::abs(data().qpos[2]) < 0.2 &&
           std::ranges::all_of(simulation().positions().subspan(2), inside) &&
           std::ranges::all_of(simulation().velocities(), inside);
  }
};

/// In v4 the feet have different friction.
Model walker2d(MujocoVersion version) {
  if (version == MujocoVersion::v5)
    return built_in("walker2d");
  return built_in("walker2d", "v4", [](mjModel& model) {
    const int foot = mj_name2id(&model, mjOBJ_GEOM, "right foot");
    model.geom_friction[std::ptrdiff_t{3} * foot] = 0.9;
  });
}

class Walker2d final : public Upright {
public:
  explicit Walker2d(MujocoVersion version)
    : Upright(walker2d(version), {.name = "walker2d",
                                  .version = version,
                                  .frame_skip = 4,
                                  .observation_size = 17,
                                  .view = {.height = 0.75, .distance = 2.7, .up = 8}}) {}

private:
  bool stands() const override {
    const double height = data().qpos[1];
    return height > 0.8 && height < 2 && std::abs(data().qpos[2]) < 1;
  }
};

} // namespace runners
} // namespace

std::unique_ptr<Robot> make_swimmer() {
  return std::make_unique<runners::Swimmer>();
}

std::unique_ptr<Robot> make_hopper(MujocoVersion version) {
  return std::make_unique<runners::Hopper>(version);
}

std::unique_ptr<Robot> make_half_cheetah() {
  return std::make_unique<runners::HalfCheetah>();
}

std::unique_ptr<Robot> make_walker2d(MujocoVersion version) {
  return std::make_unique<runners::Walker2d>(version);
}

} // namespace fiber::rl::mujoco
