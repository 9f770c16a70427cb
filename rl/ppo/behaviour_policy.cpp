// SPDX-License-Identifier: Apache-2.0
#include "rl/ppo/behaviour_policy.hpp"

#include <cstddef>
#include <vector>

#include "rl/policy/draw.hpp"

namespace fiber::rl::ppo {
namespace {

class SpecPolicy final : public BehaviourPolicy {
public:
  explicit SpecPolicy(const PolicySpec& spec)
    : policy_(spec, initial_parameters(spec, 0)) {}

  void follow(const Learner& learner) override {
    policy_.set_parameters(learner.parameters());
  }
  Policy::Decisions sample(std::span<const float> observations, const SampleKey& key,
                           const PolicyContext& context) override {
    return policy_.sample(observations, key, context);
  }
  std::span<const float> values(std::span<const float> observations,
                                const PolicyContext& context) override {
    return policy_.evaluate_values(observations, context);
  }

private:
  Policy policy_;
};

class OwnPolicy final : public BehaviourPolicy {
public:
  OwnPolicy(Spaces spaces, const Learner& learner)
    : spaces_(std::move(spaces)), learner_(&learner) {}

  void follow(const Learner& learner) override { learner_ = &learner; }
  Policy::Decisions sample(std::span<const float> observations, const SampleKey& key,
                           const PolicyContext& context) override {
    outputs_ = learner_->infer(observations);
    apply_masks(spaces_, context.masks, outputs_.policy);
    draw_actions(spaces_, outputs_.policy, outputs_.log_std, key, actions_,
                 log_probabilities_);
    return {.rows = outputs_.values.size(),
            .actions = actions_,
            .log_probabilities = log_probabilities_,
            .values = outputs_.values};
  }
  std::span<const float> values(std::span<const float> observations,
                                const PolicyContext& /*context*/) override {
    outputs_ = learner_->infer(observations);
    return outputs_.values;
  }

private:
  Spaces spaces_;
  const Learner* learner_;
  Learner::Outputs outputs_;
  std::vector<float> actions_, log_probabilities_;
};

} // namespace

std::unique_ptr<BehaviourPolicy> behaviour_policy(const PolicySpec& spec) {
  return std::make_unique<SpecPolicy>(spec);
}

std::unique_ptr<BehaviourPolicy> behaviour_policy(const Spaces& spaces,
                                                  const Learner& learner) {
  return std::make_unique<OwnPolicy>(spaces, learner);
}

} // namespace fiber::rl::ppo
