// SPDX-License-Identifier: Apache-2.0
// The numbers behind "detail" are those of docs/rl/ppo-checklist.md.
#include "rl/ppo/rollout.hpp"

#include <algorithm>

#include "fiber/rl/advantages.hpp"
#include "fiber/rl/distributions.hpp"
#include "rl/ppo/finite.hpp"
#include "rl/ppo/seeds.hpp"

namespace fiber::rl::ppo {
namespace {

// Detail 1: environments step together, and one whose episode ended begins the next.
VecEnvOptions options_of(const PpoOptions& options, std::uint64_t seed) {
  VecEnvOptions result;
  result.envs = options.envs;
  result.jobs = options.jobs;
  result.seed = seed_for(Use::environments, seed);
  result.replay = true;
  result.step_timeout = options.step_timeout;
  result.on_error = options.on_error;
  return result;
}

std::size_t memory_size(const PpoOptions& options, const Spaces& spaces) {
  return options.lstm == 0 ? 0 : options.policy_spec(spaces).memory_size();
}

} // namespace

Rollouts::Rollouts(const PpoOptions& options, std::uint64_t seed)
  : options_(options), action_seed_(seed_for(Use::actions, seed)),
    envs_(options_of(options, seed), options.environment),
    observation_normaliser_(spaces().observation_size()),
    reward_normaliser_(options.envs, options.gamma),
    memory_(options.envs, memory_size(options, spaces())) {
  auto rows = options.envs * options.rollout;
  now_.resize(options.envs * spaces().observation_size());
  observations_.resize(rows * spaces().observation_size());
  actions_.resize(rows * spaces().action_size());
  for (auto* each :
       {&log_probabilities_, &values_, &final_values_, &advantages_, &targets_})
    each->resize(rows);
  masks_.resize(rows * spaces().mask_size());
  rewards_.resize(rows);
  for (auto* each : {&terminated_, &truncated_, &valid_})
    each->resize(rows);
}

/// Takes what the environments show, normalised if that is asked for.
void Rollouts::see(const Batch& batch) {
  std::ranges::copy(batch.observations, now_.begin());
  check_observations(now_, options_.envs, 0, vector_steps_);
  masks_now_.assign(batch.masks.begin(), batch.masks.end());
  if (options_.normalise_observations) {
    // Details 28 and 29: observations have mean 0 and variance 1, and are limited.
    shown_ = now_;
    observation_normaliser_.update(now_, batch.valid);
    seen_.add(now_, batch.valid);
    observation_normaliser_.apply(now_);
  }
}

void Rollouts::play(BehaviourPolicy& policy) {
  returns_.clear();
  before_ = observation_normaliser_;
  seen_ = RunningMoments(spaces().observation_size());
  if (!started_)
    see(envs_.reset());
  started_ = true;
  memory_.begin_rollout();
  for (std::size_t step = 0; step < options_.rollout; ++step) {
    act(policy, step);
    auto& batch = envs_.step(sent_);
    record(policy, batch, step);
    ++vector_steps_;
    see(batch);
  }
  auto last = policy.values(now_, context());
  last_values_.assign(last.begin(), last.end());
  estimate();
}

void Rollouts::replace_seen(std::span<const RunningMoments> all) {
  observation_normaliser_ = before_;
  for (auto& moments : all)
    observation_normaliser_.merge(moments);
  now_ = shown_;
  observation_normaliser_.apply(now_);
}

void Rollouts::act(BehaviourPolicy& policy, std::size_t step) {
  auto at = [&](auto& rows, std::size_t width) {
    return rows.begin() + static_cast<std::ptrdiff_t>(step * options_.envs * width);
  };
  memory_.begin_step();
  auto decisions = policy.sample(
    now_, {.seed = action_seed_, .step = vector_steps_, .env_ids = {}}, context());
  std::ranges::copy(masks_now_, at(masks_, spaces().mask_size()));
  std::ranges::copy(now_, at(observations_, spaces().observation_size()));
  std::ranges::copy(decisions.actions, at(actions_, spaces().action_size()));
  std::ranges::copy(decisions.log_probabilities, at(log_probabilities_, 1));
  std::ranges::copy(decisions.values, at(values_, 1));
  // Detail 27: the environment gets the action within its bounds, the learner gets it as
  // it was drawn.
  sent_.assign(decisions.actions.begin(), decisions.actions.end());
  limit_actions(spaces(), sent_);
}

void Rollouts::record(BehaviourPolicy& policy, const Batch& batch, std::size_t step) {
  auto envs = options_.envs;
  auto begin = step * envs;
  auto offset = static_cast<std::ptrdiff_t>(begin);
  check_rewards(batch.rewards, 0, vector_steps_);
  std::ranges::copy(batch.terminated, terminated_.begin() + offset);
  std::ranges::copy(batch.truncated, truncated_.begin() + offset);
  std::ranges::copy(batch.valid, valid_.begin() + offset);
  std::span<double> rewards(rewards_.data() + begin, envs);
  if (options_.normalise_rewards) // Details 30 and 31: scaled, and limited.
    reward_normaliser_.apply(batch.rewards, batch.terminated, batch.truncated,
                             batch.valid, batch.env_ids, rewards);
  else
    std::ranges::copy(batch.rewards, rewards.begin());
  if (options_.sign_rewards) // Detail 19.
    for (auto& reward : rewards)
      reward = reward > 0 ? 1 : reward < 0 ? -1 : 0;
  std::vector<float> last;
  for (std::size_t i = 0; i < envs; ++i) {
    final_values_[begin + i] = 0;
    if (batch.valid[i] == 0) {
      memory_.end_episode(i);
      continue;
    }
    if (batch.done(i))
      returns_.push_back(batch.episode_return(i));
    if (batch.truncated[i] == 1 && batch.terminated[i] == 0) {
      auto shown = batch.final_observation(i);
      last.assign(shown.begin(), shown.end());
      if (options_.normalise_observations)
        observation_normaliser_.apply(last);
      final_values_[begin + i] = policy.values(last, {.memory = memory_.of(i)})[0];
    }
    if (batch.done(i))
      memory_.end_episode(i);
  }
}

/// Detail 5: generalised advantage estimation, and targets of the values from it. An
/// episode that was cut off counts on the value of its last observation.
void Rollouts::estimate() {
  Rollout rollout;
  rollout.steps = options_.rollout;
  rollout.envs = options_.envs;
  rollout.rewards = rewards_;
  rollout.values = values_;
  rollout.last_values = last_values_;
  rollout.final_values = final_values_;
  rollout.terminated = terminated_;
  rollout.truncated = truncated_;
  rollout.valid = valid_;
  estimate_advantages(rollout, {.gamma = options_.gamma, .lambda = options_.lambda},
                      advantages_, targets_);
  rows_ = keep_valid_rows(
    valid_,
    {&observations_, &actions_, &log_probabilities_, &values_, &advantages_, &targets_},
    masks_, failures());
  sequences_ = memory_.sequences(valid_);
}

Samples Rollouts::samples() const {
  const auto first = [&](const auto& numbers) {
    return std::span(numbers).first(numbers.size() / valid_.size() * rows_);
  };
  return {first(observations_), first(actions_),    first(log_probabilities_),
          first(values_),       first(advantages_), first(targets_),
          first(masks_),        sequences_};
}

FrozenNormaliser Rollouts::observations() const {
  return options_.normalise_observations ? observation_normaliser_.frozen()
                                         : FrozenNormaliser();
}

Rollouts::State Rollouts::state() const {
  const auto memory = memory_.now();
  return {envs_.state(),
          observation_normaliser_,
          reward_normaliser_,
          vector_steps_,
          {memory.begin(), memory.end()}};
}

void Rollouts::go_on_from(const State& state) {
  auto& batch = envs_.restore(state.envs);
  observation_normaliser_ = state.observations;
  reward_normaliser_ = state.rewards;
  vector_steps_ = state.vector_steps;
  memory_.go_on_from(state.memory);
  for (std::size_t i = 0; i < options_.envs; ++i)
    if (batch.valid[i] == 0) { // Its episode was too long to keep: it begins the next.
      double none = 0;
      reward_normaliser_.apply({&none, 1}, batch.terminated.subspan(i, 1),
                               batch.truncated.subspan(i, 1), batch.valid.subspan(i, 1),
                               batch.env_ids.subspan(i, 1), {&none, 1});
      memory_.end_episode(i);
    }
  std::ranges::copy(batch.observations, now_.begin());
  masks_now_.assign(batch.masks.begin(), batch.masks.end());
  if (options_.normalise_observations)
    observation_normaliser_.apply(now_);
  started_ = true;
}

void Rollouts::begin_with(const ObservationNormaliser& observations,
                          const RewardNormaliser& rewards) {
  observation_normaliser_ = observations;
  reward_normaliser_ = rewards;
  reward_normaliser_.end_episodes();
}

} // namespace fiber::rl::ppo
