// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "fiber/rl/detail/learner_state.hpp"
#include "fiber/rl/policy.hpp"
#include "fiber/rl/ppo_options.hpp"

namespace fiber::rl {
class PpoNetwork;
}

namespace fiber::rl::ppo {

/// The rows of a rollout, one for each step that an environment took: row i of
/// `observations` has as many floats as an observation, of `actions` as an action.
struct Samples {
  std::span<const float> observations, actions;
  std::span<const float> log_probabilities; ///< Of the actions, when they were drawn.
  std::span<const float> values;            ///< As estimated then.
  std::span<const float> advantages, returns;

  std::size_t size() const { return log_probabilities.size(); }
};

/// Means over the minibatches of an update.
struct Losses {
  double policy = 0, value = 0, entropy = 0;
  double kl = 0;            ///< An estimate of KL(old, new): mean of r - 1 - log r.
  double clip_fraction = 0; ///< Samples whose ratio was outside of the clip range.
  double gradient_norm = 0; ///< Before it was clipped.
  int steps = 0;            ///< Of Adam.
};

/// A loss or the gradient is not finite.
struct Diverged : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The networks of policy and value, and their optimiser: LibTorch behind plain numbers.
///
/// The parameters are in the order of PolicySpec, so that Policy
/// infers from them. What an update does follows from the parameters, the seed and the
/// samples: two learners on one machine remain equal to the last bit. It computes on the
/// calling thread.
class Learner {
public:
  /// `seed` decides the order in which an update sees the samples. Throws
  /// std::invalid_argument for another number of parameters than the spec's.
  Learner(const PolicySpec& spec, std::span<const float> parameters,
          const PpoOptions& options, std::uint64_t seed);
  /// Trains a network of the user's own. Throws std::invalid_argument, saying what is
  /// wrong, for one that these spaces can't do with.
  Learner(const Spaces& spaces, std::shared_ptr<PpoNetwork> network,
          const PpoOptions& options, std::uint64_t seed);
  ~Learner();
  Learner(Learner&&) noexcept;
  Learner& operator=(Learner&&) noexcept;

  std::span<const float> parameters() const;
  /// The names and shapes of the parameters of the user's own network; else empty.
  const std::string& own_network() const;

  /// What must be kept beside the parameters to go on as if nothing had happened.
  using State = detail::LearnerState;
  State state() const;
  /// Throws std::invalid_argument if the sizes are those of another network.
  void go_on_from(const State& state);

  /// What the networks say of `observations`: for each row the logits or, for continuous
  /// actions, the means; and the value. Logits have Spaces::actions floats a row.
  struct Outputs {
    std::vector<float> policy = {}, values = {};
    /// Of continuous actions: a number for each component, or for each of each row.
    std::vector<float> log_std = {};
  };
  Outputs infer(std::span<const float> observations) const;

  /// Called with the gradient of each minibatch before it is clipped, and with its
  /// losses, to replace them by the means of several learners, which remain equal then.
  using Average = std::function<void(std::span<float>)>;
  void set_average(Average average);

  /// Learns from a rollout. Throws std::invalid_argument for samples of unequal sizes,
  /// Diverged if a loss or the gradient is not finite: the parameters are those before
  /// that minibatch then.
  Losses update(const Samples& samples, double learning_rate, double clip_range);

  /// The losses and the gradient of one minibatch that has all the samples; the
  /// parameters stay. For tests and measurements.
  Losses gradient_of(const Samples& samples, double clip_range,
                     std::vector<float>& gradient);

private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

} // namespace fiber::rl::ppo
