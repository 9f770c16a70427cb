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

VecEnvOptions options_of(const ActorOptions& options, std::uint64_t life) {
  VecEnvOptions result;
  result.envs = options.envs;
  result.seed = seed_of(Use::environments, options, life);
  result.history_limit = 0; // It neither replays nor saves.
  return result;
}

template <class T>
void append(std::vector<T>& to, std::span<const T> from) {
  to.insert(to.end(), from.begin(), from.end());
}

} // namespace

Player::Player(const ActorOptions& options, std::uint64_t life)
  : options_(options), action_seed_(seed_of(Use::actions, options, life)),
    envs_(options_of(options, life), options.environment),
    policy_(options.spec, initial_parameters(options.spec, 0)) {}

void Player::follow(const PublishedPolicy& policy) {
  policy_.set_parameters(policy.parameters);
  normaliser_ = policy.observations;
  version_ = policy.version;
}

Trajectory Player::play() {
  Trajectory result;
  result.first_env = options_.first_env;
  result.envs = options_.envs;
  result.begins = steps_ == 0;
  result.version = version_.value_or(0);
  if (result.begins)
    see(envs_.reset());
  for (std::size_t step = 0; step < options_.rollout; ++step) {
    act(result);
    auto& batch = envs_.step(sent_);
    record(batch, result);
    ++steps_;
    see(batch);
  }
  result.last_observations = now_;
  return result;
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
  for (std::size_t i = 0; i < batch.size(); ++i) {
    if (batch.done(i))
      to.returns.push_back(batch.episode_return(i));
    if (to.cut_off(to.rows() - batch.size() + i))
      append(to.final_observations, batch.final_observation(i));
  }
}

} // namespace fiber::rl::ppo
