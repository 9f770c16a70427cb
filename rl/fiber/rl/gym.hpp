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

// Gymnasium environments, in a Python interpreter inside the process. Link fiber::rl_gym,
// which defines FIBER_HAS_GYM. That target does not exist if pybind11 or Python's library
// was missing when Fiber was built.
//
// Python version: the interpreter is the one Fiber was built with, usually Debian's.
// Packages come from the virtual environment that FIBER_RL_VENV names, else from the
// activated one (VIRTUAL_ENV), else from that Python's own search path:
//
//   /usr/bin/python3 -m venv venv && venv/bin/pip install gymnasium
//   FIBER_RL_VENV=$PWD/venv ./program
//
// Start and end: the interpreter starts with the first environment, in the process that
// makes it. A process forked after that cannot use the interpreter, and gets an error:
// make environments in jobs. The interpreter is never shut down. So environments may live
// until the program exits, but functions registered with Python's atexit do not run.
//
// Threads: Python runs one thread at a time. Several threads may use environments, each
// environment by one thread at a time, but this is not faster: use jobs.
//
// Signals: Python installs no handlers, so ^C is handled by the program.

namespace fiber::rl {

/// A Python exception. what() names the environment and the call, and contains Python's
/// traceback.
class GymError : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// Which environment, and how it is made.
struct GymOptions {
  /// What gymnasium.make takes: "CartPole-v1", "module:Name-v0". The Atari games,
  /// "ALE/Breakout-v5", need the packages ale-py and opencv-python; they are played with
  /// Gymnasium's AtariPreprocessing and FrameStackObservation: up to 30 no-ops at the
  /// start, a frame skip of 4, and 4 stacked grey images of 84 x 84, scaled to 0..1.
  std::string id = {};
  /// Further arguments of gymnasium.make, each "name=value". A value is a Python literal,
  /// true, false, or else a string: "continuous=True", "gravity=-5", "mode=hard".
  std::vector<std::string> arguments = {};
  /// Atari: a lost life ends the episode, as in training by Mnih et al. (2015). The next
  /// reset starts a new game.
  bool episodic_life = false;
  /// Atari: after a reset, fires once in games that need it to start.
  bool fire_on_reset = true;
  /// Clips rewards to [-1, 1].
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

/// A Gymnasium environment whose spaces are known only at run time.
///
/// Observations of a Box are converted to float32 without scaling: uint8 images, but for
/// those of Atari's games, have values from 0 to 255, which PolicySpec::observation_scale
/// can scale. An observation of a Discrete space becomes a one-hot vector. A Dict, also
/// one of Dicts, becomes one row of all its numbers, in the order of Gymnasium's
/// FlattenObservation, with Spaces::observation_parts named by the keys: "goal", or
/// "robot.place" in a Dict of a Dict. Actions may be Discrete, MultiDiscrete or a Box;
/// they are converted to the dtype and shape of the space. Other spaces (MultiBinary,
/// Tuple, ...) are refused: wrap such an environment in Python.
///
/// An environment with a method action_masks(), as MaskablePPO of sb3-contrib needs it,
/// is masked: the method returns a boolean for each action, or for each choice of each
/// component of a MultiDiscrete action. The method may be a wrapper's.
///
/// An episode depends on the seed and the actions alone only if the environment's Python
/// code guarantees it.
class AnyGymEnv final : public AnyEnvironment {
public:
  /// Starts the interpreter if this process has none yet, and makes the environment.
  /// Throws std::invalid_argument for unsupported spaces and for arguments without a
  /// name. Throws GymError if Python throws, for example because gymnasium is not
  /// installed or the environment does not exist, and if the virtual environment belongs
  /// to another Python version.
  explicit AnyGymEnv(GymOptions options);
  template <std::convertible_to<std::string> Id>
  explicit AnyGymEnv(const Id& id) : AnyGymEnv(gym_options(id)) {}
  AnyGymEnv(AnyGymEnv&&) noexcept;
  AnyGymEnv& operator=(AnyGymEnv&&) noexcept;
  /// Closes the environment. Exceptions from that are ignored.
  ~AnyGymEnv() override;

  Spaces spaces() const override;
  /// Gymnasium gets a 32-bit seed, because many environments take no longer one: `seed`
  /// itself if it fits, else its two halves combined. Throws GymError.
  void reset(std::uint64_t seed) override;
  /// Throws GymError if Python throws, and if step() in Python does not return
  /// Gymnasium's five values or returns an observation whose size differs from its space.
  Step step(std::span<const float> action) override;
  /// Writes zeros before the first reset.
  void observe(std::span<float> out) const override;
  /// Throws GymError if Python throws, or if the mask has another size than the actions.
  void mask(std::span<std::uint8_t> out) const override;
  /// Returns nothing unless the environment was made with the argument
  /// "render_mode=rgb_array". Throws GymError if Python throws, or if the result is not
  /// an image.
  std::optional<Image> render() const override;

private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// The same as AnyGymEnv, as a typed Environment, for VecEnv<GymEnv<int>>: `A` is int for
/// discrete actions, std::array<int, N> for a MultiDiscrete space of N components, and
/// std::array<float, N> for a Box of N numbers.
template <class A>
class GymEnv {
public:
  using Action = A;

  /// Throws as AnyGymEnv's constructor does, and std::invalid_argument if the actions are
  /// not of type A.
  explicit GymEnv(GymOptions options) : environment_(std::move(options)) {
    const auto spaces = environment_.spaces();
    const auto array = [](const char* of, std::size_t size) {
      return std::string("std::array<") + of + ", " + std::to_string(size) + ">";
    };
    const auto needed = spaces.actions > 0  ? "int"
                        : spaces.discrete() ? array("int", spaces.action_size())
                                            : array("float", spaces.action_size());
    std::string given = "int";
    if constexpr (!std::same_as<A, int>)
      given = array(detail::is_int_array<A> ? "int" : "float", A{}.size());
    if (given != needed)
      throw std::invalid_argument("GymEnv<" + given + ">: the actions are " +
                                  (spaces.actions > 0  ? "discrete"
                                   : spaces.discrete() ? "multi-discrete"
                                                       : "a Box") +
                                  ": use GymEnv<" + needed + ">");
  }
  template <std::convertible_to<std::string> Id>
  explicit GymEnv(const Id& id) : GymEnv(gym_options(id)) {}

  Spaces spaces() const { return environment_.spaces(); }
  void reset(std::uint64_t seed) { environment_.reset(seed); }
  Step step(Action action) {
    if constexpr (std::same_as<A, int>) {
      const auto number = static_cast<float>(action);
      return environment_.step({&number, 1});
    } else if constexpr (detail::is_int_array<A>) {
      std::array<float, A{}.size()> numbers;
      std::ranges::transform(action, numbers.begin(),
                             [](int choice) { return static_cast<float>(choice); });
      return environment_.step(numbers);
    } else {
      return environment_.step(action);
    }
  }
  void observe(std::span<float> out) const { environment_.observe(out); }
  void mask(std::span<std::uint8_t> out) const { environment_.mask(out); }

private:
  AnyGymEnv environment_;
};

/// Makes the Gymnasium environment that gym_options() reads from `name`. Throws as
/// AnyGymEnv does.
std::unique_ptr<AnyEnvironment> make_gym(const std::string& name);

} // namespace fiber::rl
