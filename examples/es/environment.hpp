// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "es/random.hpp"

namespace es {

/// What one step of an episode gave.
struct Step {
  double reward = 0;
  bool terminated = false; ///< The task ended the episode.
  bool truncated = false;  ///< The step limit did.
};

/// A world an agent acts in, one episode after another. The start of an episode follows
/// from the stream given to reset(), all else from the actions: there is no hidden
/// chance.
class Environment {
public:
  virtual ~Environment() = default;

  virtual std::size_t observation_size() const = 0;
  virtual std::size_t action_size() const = 0;

  /// Steps after which an episode is truncated.
  virtual std::size_t step_limit() const = 0;

  /// The mean return at which the task counts as solved, if there is an agreed one.
  virtual std::optional<double> solved_at() const { return {}; }

  /// Starts an episode.
  void reset(Random& random);

  /// What the agent sees now; valid until the next call of reset() or step().
  virtual std::span<const float> observation() const = 0;

  /// Acts once. `action` is the policy's raw output, action_size() numbers; the
  /// environment says what they mean.
  Step step(std::span<const float> action);

private:
  virtual void start(Random& random) = 0;
  /// Returns the reward and whether the episode is over; the step limit is not its
  /// business.
  virtual Step advance(std::span<const float> action) = 0;

  std::size_t steps_ = 0;
};

/// "cartpole", "pendulum" or "quadratic". Throws std::invalid_argument naming these else.
std::unique_ptr<Environment> make_environment(std::string_view name);

} // namespace es
