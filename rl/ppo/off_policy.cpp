// SPDX-License-Identifier: Apache-2.0
#include "rl/ppo/off_policy.hpp"

#include "fiber/rl/environments.hpp"
#include "rl/ppo/seeds.hpp"

namespace fiber::rl::ppo {

OffPolicyTraining::OffPolicyTraining(const PpoOptions& options)
  : options_(options),
    spec_(options.policy_spec(make_environment(options.environment)->spaces())),
    learner_(spec_, initial_parameters(spec_, seed_for(Use::networks, options.seed)),
             options, seed_for(Use::order, options.seed)),
    batch_(options, spec_) {}

double OffPolicyTraining::seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

bool OffPolicyTraining::has_steps_for(std::size_t rollouts) const {
  return last_row().steps + rollouts * options_.envs * options_.rollout <= options_.steps;
}

UpdateRecord OffPolicyTraining::learn() {
  auto [rate, clip] = rates_after(last_row().steps, options_);
  auto samples = batch_.samples(learner_);
  auto variance = explained_variance(samples.values, samples.returns);
  return {.rows = batch_.rows(),
          .returns = batch_.returns(),
          .explained_variance = variance,
          .losses = learner_.update(samples, rate, clip),
          .learning_rate = rate};
}

SavedPolicy OffPolicyTraining::policy() const {
  auto parameters = learner_.parameters();
  return {.environment = options_.environment,
          .spec = spec_,
          .parameters = {parameters.begin(), parameters.end()},
          .observations = batch_.observations()};
}

FileLabel OffPolicyTraining::label(const std::string& kind, unsigned version) const {
  return {.kind = kind,
          .version = version,
          .settings = {{"environment", options_.environment},
                       {"network", spec_.describe()},
                       {"seed", std::to_string(options_.seed)},
                       {"settings", options_.describe()}}};
}

} // namespace fiber::rl::ppo
