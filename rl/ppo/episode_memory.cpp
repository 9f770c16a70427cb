// SPDX-License-Identifier: Apache-2.0
// The numbers behind "detail" are those of docs/rl/ppo-checklist.md.
#include "rl/ppo/episode_memory.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace fiber::rl::ppo {

void EpisodeMemory::begin_rollout() {
  if (size_ == 0)
    return;
  first_ = now_; // Detail 35: from here, updates run through the rollout again.
  std::ranges::fill(ended_, 0);
  begins_.clear();
}

void EpisodeMemory::begin_step() {
  if (size_ == 0)
    return;
  begins_.insert(begins_.end(), ended_.begin(), ended_.end());
  std::ranges::fill(ended_, 0);
}

void EpisodeMemory::end_episode(std::size_t env) {
  std::ranges::fill(of(env), 0.0F); // Details 33 and 34.
  ended_[env] = 1;
}

Sequences EpisodeMemory::sequences(std::span<const std::uint8_t> valid) {
  if (size_ == 0)
    return {};
  environments_.clear();
  valid_begins_.clear();
  for (std::size_t row = 0; row < valid.size(); ++row)
    if (valid[row] != 0) {
      environments_.push_back(static_cast<std::uint32_t>(row % envs_));
      valid_begins_.push_back(begins_[row]);
    }
  return {environments_, valid_begins_, first_, size_};
}

void EpisodeMemory::go_on_from(std::span<const float> memory) {
  if (memory.size() != now_.size())
    throw std::invalid_argument("the memory of the environments has " +
                                std::to_string(now_.size()) + " floats, not " +
                                std::to_string(memory.size()));
  std::ranges::copy(memory, now_.begin());
}

} // namespace fiber::rl::ppo
