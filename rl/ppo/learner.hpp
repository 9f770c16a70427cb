// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "fiber/rl/detail/learner_state.hpp"
#include "fiber/rl/policy.hpp"
#include "fiber/rl/ppo_options.hpp"
#include "rl/ppo/loss_gradient.hpp"

namespace fiber::rl::ppo {

/// A loss or the gradient is not finite.
struct Diverged : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The networks of policy and value, and their optimiser.
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
  Learner(const Spaces& spaces, std::unique_ptr<LossGradient> networks,
          const PpoOptions& options, std::uint64_t seed);
  ~Learner();
  Learner(Learner&&) noexcept;
  Learner& operator=(Learner&&) noexcept;

  std::span<const float> parameters() const;
  /// The names and shapes of the parameters of the user's own network; else empty.
  std::string own_network() const;

  /// What must be kept beside the parameters to go on as if nothing had happened.
  using State = detail::LearnerState;
  State state() const;
  /// Throws std::invalid_argument if the sizes are those of another network.
  void go_on_from(const State& state);

  /// What the networks say of `observations`. A recurrent policy sees each as the first
  /// of an episode.
  using Outputs = NetworkOutputs;
  Outputs infer(std::span<const float> observations) const;

  /// Called with the gradient of each minibatch before it is clipped, and with its
  /// losses, to replace them by the means of several learners, which remain equal then.
  using Average = std::function<void(std::span<float>)>;
  void set_average(Average average);

  /// Learns from a rollout. Throws std::invalid_argument for samples of unequal sizes,
  /// Diverged if a loss or the gradient is not finite: the parameters are those before
  /// that minibatch then. An epoch sees `at_most` of the samples, drawn for each epoch:
  /// several learners take equal numbers of steps although some have fewer rows.
  Losses update(const Samples& samples, double learning_rate, double clip_range,
                std::size_t at_most = std::numeric_limits<std::size_t>::max());

  /// The losses and the gradient of one minibatch that has all the samples; the
  /// parameters stay. For tests and measurements.
  Losses gradient_of(const Samples& samples, double clip_range,
                     std::vector<float>& gradient);

private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

} // namespace fiber::rl::ppo
