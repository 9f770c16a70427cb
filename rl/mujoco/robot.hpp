// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "fiber/rl/environment.hpp"
#include "fiber/rl/mujoco.hpp"
#include "fiber/rl/random.hpp"
#include "rl/mujoco/picture.hpp"
#include "rl/mujoco/simulation.hpp"

namespace fiber::rl::mujoco {

/// One of Gymnasium's robots: a model, and what makes an environment of it.
class Robot {
public:
  virtual ~Robot() = default;

  void reset(std::uint64_t seed);
  Step step(std::span<const float> action);
  void observe(std::span<float> out) const;
  Spaces spaces() const;
  Image render() const;
  /// Begins an episode in this state. An empty warm start is that of a fresh state.
  void set_state(std::span<const double> positions, std::span<const double> velocities,
                 std::span<const double> warm_start);

protected:
  struct Plan {
    std::string name;
    MujocoVersion version = MujocoVersion::v5;
    int frame_skip = 1;
    int step_limit = 1000;
    std::size_t observation_size = 0;
    bool forces = false; ///< Needs the forces on bodies.
    View view = {};
  };

  /// A quantity before and after a step.
  struct Change {
    double before = 0, after = 0;
    double speed = 0; ///< after - before, in a second.
  };

  struct Noise {
    double positions = 0; ///< Uniform, at most this.
    double velocities = 0;
    bool normal = false; ///< Of the velocities: the deviation of a normal distribution.
  };

  Robot(Model model, Plan plan);

  const Simulation& simulation() const { return simulation_; }
  const mjModel& model() const { return simulation_.model(); }
  const mjData& data() const { return simulation_.data(); }
  bool v4() const { return plan_.version == MujocoVersion::v4; }

  /// Adds noise to the model's own state, which `positions` and `velocities` are.
  static void add(const Noise& noise, Random& random, std::span<double> positions,
                  std::span<double> velocities);

private:
  /// Makes the state in which an episode starts of the model's own.
  virtual void start(Random& random, std::span<double> positions,
                     std::span<double> velocities) const = 0;
  /// The quantity whose change judge() needs.
  virtual double place() const { return data().qpos[0]; }
  virtual Step judge(const Change& change, std::span<const float> action) const = 0;
  virtual void look(std::span<float> out) const = 0;

  void require_episode(const char* call) const;

  Plan plan_;
  Simulation simulation_;
  int steps_ = -1; ///< Of this episode; -1: there is none.
};

/// Writes numbers one after the other.
class Row {
public:
  explicit Row(std::span<float> out) : at_(out.data()) {}
  void add(double value) { *at_++ = static_cast<float>(value); }
  void add(std::span<const double> values) {
    for (const auto value : values)
      add(value);
  }
  void add_clipped(std::span<const double> values, double limit) {
    for (const auto value : values)
      add(std::clamp(value, -limit, limit));
  }

private:
  float* at_;
};

inline double sum_of_squares(std::span<const float> values) {
  double sum = 0;
  for (const double value : values)
    sum += value * value;
  return sum;
}

/// The values of an array of MuJoCo's.
inline std::span<const double> values_of(const mjtNum* first, long long count) {
  return {first, static_cast<std::size_t>(count)};
}

std::unique_ptr<Robot> make_inverted_pendulum(MujocoVersion version);
std::unique_ptr<Robot> make_inverted_double_pendulum(MujocoVersion version);
std::unique_ptr<Robot> make_reacher(MujocoVersion version);
std::unique_ptr<Robot> make_swimmer();
std::unique_ptr<Robot> make_hopper(MujocoVersion version);
std::unique_ptr<Robot> make_half_cheetah();
std::unique_ptr<Robot> make_walker2d(MujocoVersion version);
std::unique_ptr<Robot> make_ant(MujocoVersion version);
std::unique_ptr<Robot> make_humanoid(MujocoVersion version);

} // namespace fiber::rl::mujoco
