// SPDX-License-Identifier: Apache-2.0
// The numbers behind "detail" are those of docs/rl/ppo-checklist.md.
#include "rl/ppo/player.hpp"

#include "fiber/rl/distributions.hpp"
#include "fiber/rl/random.hpp"
#include "rl/ppo/finite.hpp"
#include "rl/ppo/seeds.hpp"

namespace fiber::rl::ppo {
namespace {

/// A life has draws of its own, so that an actor that takes another's place does not play
/// the same episodes again.
std::uint64_t seed_of(Use use, const ActorOptions& options, std::uint64_t life) {
  return Random(seed_for(use, options.seed), {life}).next();
}

VecEnvOptions options_of(const ActorOptions& options, std::uint64_t life,
                         const PlayerJobs& where) {
  VecEnvOptions result;
  result.envs = options.envs;
  result.jobs = where.jobs;
  result.seed = seed_of(Use::environments, options, life);
  result.replay = where.jobs > 0;
  result.step_timeout = where.step_timeout;
  result.on_error = options.on_error;
  if (where.jobs == 0 && !where.saves)
    result.history_limit = 0;
  return result;
}

template <class T>
void append(std::vector<T>& to, std::span<const T> from) {
  to.insert(to.end(), from.begin(), from.end());
}

} // namespace

Player::Player(const ActorOptions& options, std::uint64_t life, const PlayerJobs& where)
  : options_(options), action_seed_(seed_of(Use::actions, options, life)),
    envs_(options_of(options, life, where), options.environment),
    policy_(options.spec, initial_parameters(options.spec, 0)), begins_(options.envs, 1) {
}

void Player::follow(std::uint64_t version, std::span<const float> parameters,
                    const FrozenNormaliser& observations) {
  policy_.set_parameters(parameters);
  normaliser_ = observations;
  version_ = version;
}

Trajectory Player::play() {
  Trajectory result;
  result.first_env = options_.first_env;
  result.envs = options_.envs;
  result.version = version_.value_or(0);
  if (steps_ == 0)
    see(envs_.reset());
  result.begins.swap(begins_);
  begins_.assign(options_.envs, 0);
  for (std::size_t step = 0; step < options_.rollout; ++step) {
    act(result);
    auto& batch = envs_.step(sent_);
    record(batch, result);
    ++steps_;
    see(batch);
  }
  result.last_observations = now_;
  const auto failures = EnvFailures::of(envs_);
  result.failures = failures.since(told_);
  told_ = failures;
  return result;
}

void Player::go_on_from(const State& state) {
  auto& batch = envs_.restore(state.envs);
  steps_ = state.steps;
  if (steps_ == 0)
    return;                                       // It begins with a reset.
  for (std::size_t i = 0; i < options_.envs; ++i) // Some episodes are too long to keep.
    begins_[i] = batch.valid[i] == 0 ? 1 : 0;
  see(batch);
}

void Player::see(const Batch& batch) {
  check_observations(batch.observations, options_.envs, options_.first_env, steps_);
  now_.assign(batch.observations.begin(), batch.observations.end());
  masks_now_.assign(batch.masks.begin(), batch.masks.end());
}

void Player::act(Trajectory& to) {
  normalised_ = now_;
  normaliser_.apply(normalised_);
  auto decisions =
    policy_.sample(normalised_, {.seed = action_seed_, .step = steps_, .env_ids = {}},
                   {.masks = masks_now_});
  append<float>(to.observations, now_);
  append<std::uint8_t>(to.masks, masks_now_);
  append(to.actions, decisions.actions);
  append(to.log_probabilities, decisions.log_probabilities);
  // Detail 27: the environment gets the action within its bounds.
  sent_.assign(decisions.actions.begin(), decisions.actions.end());
  limit_actions(options_.spec.spaces, sent_);
}

void Player::record(const Batch& batch, Trajectory& to) {
  check_rewards(batch.rewards, options_.first_env, steps_);
  append(to.rewards, batch.rewards);
  append(to.terminated, batch.terminated);
  append(to.truncated, batch.truncated);
  append(to.valid, batch.valid);
  for (std::size_t i = 0; i < batch.size(); ++i) {
    if (batch.valid[i] == 1 && batch.done(i))
      to.returns.push_back(batch.episode_return(i));
    if (to.cut_off(to.rows() - batch.size() + i))
      append(to.final_observations, batch.final_observation(i));
  }
}

} // namespace fiber::rl::ppo
