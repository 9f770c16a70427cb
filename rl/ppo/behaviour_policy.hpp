// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>

#include "fiber/rl/policy.hpp"
#include "rl/ppo/learner.hpp"

namespace fiber::rl::ppo {

/// Plays rollouts by the networks that a learner trains. A returned span is valid until
/// the next call.
class BehaviourPolicy {
public:
  virtual ~BehaviourPolicy() = default;

  /// Acts from now on as the learner has learned to.
  virtual void follow(const Learner& learner) = 0;
  virtual Policy::Decisions sample(std::span<const float> observations,
                                   const SampleKey& key,
                                   const PolicyContext& context) = 0;
  virtual std::span<const float> values(std::span<const float> observations,
                                        const PolicyContext& context) = 0;
};

/// Infers on Eigen what a spec describes.
std::unique_ptr<BehaviourPolicy> behaviour_policy(const PolicySpec& spec);
/// Infers by the learner's own network.
std::unique_ptr<BehaviourPolicy> behaviour_policy(const Spaces& spaces,
                                                  const Learner& learner);

} // namespace fiber::rl::ppo
