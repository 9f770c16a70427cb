// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "fiber/rl/batch.hpp"
#include "rl/vec/episode_book.hpp"
#include "rl/vec/rows.hpp"

namespace fiber::rl::vec {

/// The Batch of a VecEnv. All rows are shown where they are; some are gathered first, so
/// that they are contiguous.
class BatchRows {
public:
  BatchRows(const VecEnvOptions& options, Rows& rows, const EpisodeBook& book);

  /// The rows of all environments in order of their numbers.
  const Batch& all();
  /// The rows of these.
  const Batch& some(std::span<const int> ids);

private:
  Rows& rows_;
  const EpisodeBook& book_;
  const bool finals_; ///< Whether episodes end with a row that shows the next one.
  std::vector<int> all_ids_;
  Batch batch_;
  // The gathered rows.
  std::vector<float> observations_, final_observations_;
  std::vector<double> rewards_, episode_returns_;
  std::vector<std::uint8_t> terminated_, truncated_, valid_, masks_;
  std::vector<int> ids_, episode_lengths_;
};

} // namespace fiber::rl::vec
