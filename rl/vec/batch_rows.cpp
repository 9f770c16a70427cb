// SPDX-License-Identifier: Apache-2.0
#include "rl/vec/batch_rows.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace fiber::rl::vec {
namespace gathering {
namespace {

template <class T>
void gather(std::span<const int> ids, const std::vector<T>& from, std::vector<T>& to) {
  to.clear();
  for (const int id : ids)
    to.push_back(from[static_cast<std::size_t>(id)]);
}

} // namespace
} // namespace gathering

BatchRows::BatchRows(const VecEnvOptions& options, Rows& rows, const EpisodeBook& book)
  : rows_(rows), book_(book), finals_(options.autoreset == Autoreset::same_step),
    all_ids_(options.envs) {
  std::iota(all_ids_.begin(), all_ids_.end(), 0);
}

const Batch& BatchRows::all() {
  batch_.observations = rows_.observations();
  batch_.rewards = book_.rewards;
  batch_.terminated = book_.terminated;
  batch_.truncated = book_.truncated;
  batch_.valid = book_.valid;
  batch_.masks = rows_.masks();
  batch_.env_ids = all_ids_;
  batch_.final_observations =
    finals_ ? rows_.final_observations() : std::span<const float>{};
  batch_.episode_returns = book_.episode_returns;
  batch_.episode_lengths = book_.episode_lengths;
  return batch_;
}

const Batch& BatchRows::some(std::span<const int> ids) {
  const auto width = rows_.shape().observation_size;
  ids_.assign(ids.begin(), ids.end());
  gathering::gather(ids, book_.rewards, rewards_);
  gathering::gather(ids, book_.terminated, terminated_);
  gathering::gather(ids, book_.truncated, truncated_);
  gathering::gather(ids, book_.valid, valid_);
  gathering::gather(ids, book_.episode_returns, episode_returns_);
  gathering::gather(ids, book_.episode_lengths, episode_lengths_);
  observations_.resize(ids.size() * width);
  masks_.clear();
  if (finals_)
    final_observations_.resize(ids.size() * width);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const auto id = static_cast<std::size_t>(ids[i]);
    const auto at = static_cast<std::ptrdiff_t>(i * width);
    std::ranges::copy(rows_.observation(id), observations_.begin() + at);
    const auto mask = rows_.mask(id);
    masks_.insert(masks_.end(), mask.begin(), mask.end());
    if (finals_ && (terminated_[i] | truncated_[i]) != 0)
      std::ranges::copy(rows_.final_observation(id), final_observations_.begin() + at);
  }
  batch_ = {.observations = observations_,
            .rewards = rewards_,
            .terminated = terminated_,
            .truncated = truncated_,
            .valid = valid_,
            .masks = masks_,
            .env_ids = ids_,
            .final_observations = final_observations_,
            .episode_returns = episode_returns_,
            .episode_lengths = episode_lengths_};
  return batch_;
}

} // namespace fiber::rl::vec
