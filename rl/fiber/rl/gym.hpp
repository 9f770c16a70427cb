// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <boost/serialization/string.hpp>
#include <boost/serialization/vector.hpp>

#include "fiber/rl/environment.hpp"

// Environments of Gymnasium, in a Python interpreter inside of the process. Link
// fiber::rl_gym, which defines FIBER_HAS_GYM; there is none if pybind11 or Python's
// library was missing when Fiber was built.
//
// Which Python. The one Fiber was built with, Debian's as a rule. Packages come from the
// virtual environment that FIBER_RL_VENV names, else from the one that VIRTUAL_ENV names
// (an activated one), else from where that Python looks for them:
//
//   /usr/bin/python3 -m venv venv && venv/bin/pip install gymnasium
//   FIBER_RL_VENV=$PWD/venv ./program
//
// When it starts. With the first environment, in the process that makes it. Make
// environments in jobs: a process that was forked from one whose interpreter runs cannot
// use it, and gets an error. The interpreter is never ended: environments that live until
// the program exits are safe, but what Python's atexit registers does not run.
//
// Threads. Python runs one thread at a time. Environments may be used by several threads,
// each by one at a time, but they do not get faster: use jobs.
//
// Signals. Python installs no handlers: ^C is the program's.

namespace fiber::rl {

/// Python threw. what() says in which environment and call, then has Python's traceback.
class GymError : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// Which environment, and how it is made.
struct GymOptions {
  /// What gymnasium.make takes: "CartPole-v1", "module:Name-v0". The Atari games,
  /// "ALE/Breakout-v5", need the packages ale-py and opencv-python; they are played with
  /// Gymnasium's AtariPreprocessing and FrameStackObservation: up to 30 steps without
  /// action at the start, each action for 4 frames, the last 4 images in grey, 84 x 84.
  std::string id = {};
  /// Further arguments of gymnasium.make, each "name=value". A value is a Python literal,
  /// true, false, or else a string: "continuous=True", "gravity=-5", "mode=hard".
  std::vector<std::string> arguments = {};
  /// Atari: a lost life ends the episode, as in training by Mnih et al. (2015). The next
  /// reset starts a new game.
  bool episodic_life = false;
  /// Atari: after a reset, fires once in games that wait for it.
  bool fire_on_reset = true;
  /// Rewards are cut off at -1 and 1.
  bool clip_rewards = false;

  template <class Archive>
  void serialize(Archive& archive, unsigned) {
    archive& id& arguments& episodic_life& fire_on_reset& clip_rewards;
  }
};

/// Options from a command line: "ID?NAME=VALUE&NAME=VALUE". A name that is a flag of
/// GymOptions sets it, others become arguments:
///
///   "CartPole-v1?render_mode=rgb_array"
///   "ALE/Breakout-v5?episodic_life=true&clip_rewards=true&repeat_action_probability=0"
///
/// Throws std::invalid_argument for an argument without a value, and for a flag that is
/// neither true nor false.
GymOptions gym_options(const std::string& name);

/// An environment of Gymnasium, whatever its spaces are.
///
/// Observations: those of a Box are its numbers as they are, converted to float32: images
/// of uint8 are 0 to 255, to be scaled by the policy. A number of a Discrete space is a
/// one-hot vector. Actions: Discrete, or Box, to whose dtype and shape they are
/// converted. Other spaces (MultiDiscrete, Dict, ...) are refused; wrap the environment
/// in Python.
///
/// What the environment shows follows from the seed and the actions only if its Python
/// code sees to that.
class AnyGymEnv final : public AnyEnvironment {
public:
  /// Starts the interpreter if this process has none yet, and makes the environment.
  /// Throws std::invalid_argument for spaces it does not take and for arguments without a
  /// name, and GymError if Python throws: also if gymnasium is not installed, if there is
  /// no such environment, or if the virtual environment is of another version of Python.
  explicit AnyGymEnv(GymOptions options);
  template <std::convertible_to<std::string> Id>
  explicit AnyGymEnv(const Id& id) : AnyGymEnv(gym_options(id)) {}
  AnyGymEnv(AnyGymEnv&&) noexcept;
  AnyGymEnv& operator=(AnyGymEnv&&) noexcept;
  /// Closes the environment. What that throws is dropped.
  ~AnyGymEnv() override;

  Spaces spaces() const override;
  /// Gymnasium gets a seed of 32 bits, since many environments take no longer one:
  /// `seed` itself if it is so small, else both halves combined. Throws GymError.
  void reset(std::uint64_t seed) override;
  /// Throws GymError if Python does, and if it returns something else than Gymnasium's
  /// five values or an observation of another size than its space has.
  Step step(std::span<const float> action) override;
  /// Zeros before the first reset.
  void observe(std::span<float> out) const override;
  /// Nothing unless it was made with the argument "render_mode=rgb_array". Throws
  /// GymError if Python does, or if this is no picture.
  std::optional<Image> render() const override;

private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// The same as an Environment, for VecEnv<GymEnv<int>>: `A` is int for discrete actions,
/// and std::array<float, N> for a Box of N numbers.
template <class A>
class GymEnv {
public:
  using Action = A;

  /// As of AnyGymEnv. Throws std::invalid_argument also if its actions are not of type A.
  explicit GymEnv(GymOptions options) : environment_(std::move(options)) {
    const auto spaces = environment_.spaces();
    if constexpr (std::same_as<A, int>) {
      if (!spaces.discrete())
        throw std::invalid_argument(
          "GymEnv<int>: the actions are a Box: use GymEnv<std::array<float, " +
          std::to_string(spaces.action_size()) + ">>");
    } else if (spaces.discrete() || spaces.action_size() != A{}.size()) {
      throw std::invalid_argument(
        "GymEnv<std::array<float, " + std::to_string(A{}.size()) +
        ">>: the actions are " +
        (spaces.discrete()
           ? "discrete: use GymEnv<int>"
           : std::to_string(spaces.action_size()) + " numbers: use an array of as many"));
    }
  }
  template <std::convertible_to<std::string> Id>
  explicit GymEnv(const Id& id) : GymEnv(gym_options(id)) {}

  Spaces spaces() const { return environment_.spaces(); }
  void reset(std::uint64_t seed) { environment_.reset(seed); }
  Step step(Action action) {
    if constexpr (std::same_as<A, int>) {
      const auto number = static_cast<float>(action);
      return environment_.step({&number, 1});
    } else {
      return environment_.step(action);
    }
  }
  void observe(std::span<float> out) const { environment_.observe(out); }

private:
  AnyGymEnv environment_;
};

/// The environment of Gymnasium that gym_options() reads from `name`. What
/// make_environment calls for names with a '/' or "-v". Throws as AnyGymEnv does.
std::unique_ptr<AnyEnvironment> make_gym(const std::string& name);

} // namespace fiber::rl
