// SPDX-License-Identifier: Apache-2.0
#include "rl/vec/episode_book.hpp"

#include <algorithm>
#include <stdexcept>

#include "base/log.hpp"

namespace fiber::rl::vec {

using detail::History;
using detail::Op;
using detail::Order;

EpisodeBook::EpisodeBook(const VecEnvOptions& options, const Spaces& spaces, Rows& rows)
  : rewards(options.envs), episode_returns(options.envs), terminated(options.envs),
    truncated(options.envs), valid(options.envs), episode_lengths(options.envs),
    options_(options), action_size_(spaces.action_size()),
    max_kept_(std::min(options.history_limit, std::vector<float>().max_size() /
                                                std::max<std::size_t>(action_size_, 1)) *
              action_size_),
    rows_(rows), seed_(options.seed), envs_(options.envs),
    sent_(options.envs * action_size_) {
  for (std::size_t i = 0; i < envs_.size(); ++i)
    envs_[i].next_seed = episode_seed(seed_, i, 0);
}

void EpisodeBook::order(int id, Op op, std::span<const float> action) {
  const auto row = static_cast<std::size_t>(id);
  auto& target = env(id);
  target.op = op == Op::show && target.given_up ? Op::step : op; // See give_up().
  target.in_flight = true;
  target.failure.reset();
  if (op == Op::reset)
    target.failures = 0;
  std::ranges::copy(action,
                    sent_.begin() + static_cast<std::ptrdiff_t>(row * action_size_));
  std::ranges::copy(action, rows_.action(row).begin());
  write_order(id);
}

void EpisodeBook::write_order(int id) {
  auto& cell = rows_.cell(static_cast<std::size_t>(id));
  const auto given = pending(id);
  cell.op = given.op;
  cell.next_seed = given.next_seed;
}

Order EpisodeBook::pending(int id) const {
  return {.id = id, .op = env(id).op, .next_seed = env(id).next_seed};
}

std::span<const float> EpisodeBook::sent(int id) const {
  return std::span(sent_).subspan(static_cast<std::size_t>(id) * action_size_,
                                  action_size_);
}

void EpisodeBook::accept(int id) {
  const auto row = static_cast<std::size_t>(id);
  const auto facts = rows_.cell(row).facts; // A copy: a job may write there.
  auto& target = env(id);
  rewards[row] = facts.reward;
  episode_returns[row] = facts.episode_return;
  episode_lengths[row] = facts.episode_length;
  terminated[row] = facts.terminated != 0;
  truncated[row] = facts.truncated != 0;
  valid[row] = facts.lost == 0;
  if (facts.failed != 0) {
    next_episode(id); // The seed of this one may be what it fails at.
    target.failure = rows_.error(row);
    ++target.failures;
  } else if (facts.lost != 0) {
    if (options_.replay && target.where.forgotten)
      log().warn("environment {} of a VecEnv begins a new episode: the one under way had "
                 "more than {} actions (history_limit) and can't be retraced",
                 id, options_.history_limit);
    next_episode(id);
    target.where.done = options_.autoreset != Autoreset::same_step;
  } else if (target.op == Op::reset) {
    next_episode(id);
  } else if (target.op == Op::step) {
    note_step(id, terminated[row] != 0 || truncated[row] != 0);
    target.failures = 0;
  }
  target.given_up = false;
}

void EpisodeBook::give_up(int id, bool other_seed) {
  auto& of = env(id);
  of.given_up = true;
  if (other_seed)
    next_episode(id);
  if (of.op == Op::show)
    of.op = Op::step; // Of an environment in no episode: begins one, and says so.
  write_order(id);
}

void EpisodeBook::renew(int id) {
  env(id).failure.reset();
  give_up(id, false); // accept() has chosen the next seed.
}

void EpisodeBook::note_step(int id, bool ended) {
  auto& where = env(id).where;
  if (where.done) { // Autoreset::next_step: it was the step that begins an episode.
    next_episode(id);
  } else if (ended && options_.autoreset == Autoreset::same_step) {
    next_episode(id);
  } else {
    keep_action(where, sent(id));
    where.done = ended;
  }
}

void EpisodeBook::keep_action(VecEnvState::Env& where,
                              std::span<const float> action) const {
  if (where.forgotten)
    return;
  if (where.actions.size() < max_kept_) {
    for (const float number : action) // Faster than insert(), for so few.
      where.actions.push_back(number);
  } else {
    where.forgotten = true;
    where.actions = std::vector<float>(); // Not {}, which keeps the memory.
  }
}

void EpisodeBook::next_episode(int id) {
  auto& of = env(id);
  ++of.where.episodes;
  of.where.actions.clear();
  of.where.done = of.where.forgotten = false;
  of.next_seed = seed_of(id, of.where.episodes);
}

History EpisodeBook::history(int id) const {
  const auto& where = env(id).where;
  return {.id = id,
          .begun = where.episodes > 0 && !env(id).given_up && !where.forgotten,
          .done = where.done,
          .seed = seed_of(id, where.episodes - 1),
          .actions = where.actions};
}

bool EpisodeBook::retraces(int id) const {
  const auto& of = env(id);
  const auto wanted = options_.replay || (of.in_flight && of.op == Op::show);
  return wanted && has_begun(id) && !of.failure && !of.given_up && !of.where.forgotten;
}

std::uint64_t EpisodeBook::seed_of(int id, std::uint64_t episode) const {
  return episode_seed(seed_, static_cast<std::size_t>(id), episode);
}

std::size_t EpisodeBook::kept() const {
  std::size_t numbers = 0;
  for (const auto& each : envs_)
    numbers += each.where.actions.capacity();
  return numbers;
}

VecEnvState EpisodeBook::state() const {
  VecEnvState state{.seed = seed_, .envs = {}};
  for (const auto& each : envs_)
    state.envs.push_back(each.where);
  return state;
}

void EpisodeBook::restore(const VecEnvState& state) {
  auto refuse = [](const std::string& why) {
    throw std::invalid_argument("this VecEnvState does not fit: " + why);
  };
  if (state.envs.size() != envs_.size())
    refuse("it has " + std::to_string(state.envs.size()) + " environments, not " +
           std::to_string(envs_.size()));
  for (std::size_t i = 0; i < state.envs.size(); ++i) {
    const auto& where = state.envs[i];
    const auto name = "environment " + std::to_string(i);
    if (where.actions.size() % action_size_ != 0)
      refuse("an action has " + std::to_string(action_size_) + " numbers, but " + name +
             " has " + std::to_string(where.actions.size()) + " in all");
    if (where.done && options_.autoreset == Autoreset::same_step)
      refuse(name + " waits for a reset, which does not happen with same_step");
    if (where.episodes == 0 && (where.done || !where.actions.empty()))
      refuse(name + " has acted before its first episode");
    if (where.forgotten && (where.episodes == 0 || !where.actions.empty()))
      refuse(name + " has forgotten an episode, but not its actions");
  }
  seed_ = state.seed;
  for (std::size_t i = 0; i < state.envs.size(); ++i)
    envs_[i] = {.where = state.envs[i],
                .next_seed = episode_seed(seed_, i, state.envs[i].episodes),
                .given_up = state.envs[i].forgotten,
                .failure = {}};
}

} // namespace fiber::rl::vec
