// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace fiber::rl {

/// The results of one step or reset of some environments of a VecEnv. Row i belongs to
/// environment env_ids[i]. The spans point into the VecEnv and are valid until its next
/// call.
struct Batch {
  /// The observations: size() rows of Spaces::observation_size() floats, one after
  /// another. With Autoreset::same_step the row of an episode that ended holds the first
  /// observation of the next one.
  std::span<const float> observations;
  /// The reward of the step; 0 in rows of a reset.
  std::span<const double> rewards;
  /// 1 where the task ended the episode: the value after its last observation is 0.
  std::span<const std::uint8_t> terminated;
  /// 1 where something else ended the episode, such as a step limit. Bootstrap from the
  /// value of its last observation.
  std::span<const std::uint8_t> truncated;
  /// 0 in the row of an environment whose job was lost: skip it in learning. `truncated`
  /// is 1 there, the reward 0, and the observation the first one of a new episode.
  std::span<const std::uint8_t> valid;
  /// Which actions are possible: size() rows of Spaces::mask_size() bytes, one after
  /// another; 0 forbids a choice. Empty unless Spaces::masked. A row's mask belongs to
  /// its observation. Where the next step ignores the action, because the row has the
  /// last observation of an episode, all choices are possible.
  std::span<const std::uint8_t> masks;
  /// The environments, from 0 to envs - 1, each at most once.
  std::span<const int> env_ids;

  /// The number of rows.
  std::size_t size() const { return env_ids.size(); }
  /// Whether an episode ended in row i.
  bool done(std::size_t i) const { return (terminated[i] | truncated[i]) != 0; }
  /// The observation of row i.
  std::span<const float> observation(std::size_t i) const { return row(observations, i); }
  /// The mask of row i.
  std::span<const std::uint8_t> mask(std::size_t i) const {
    const auto width = masks.size() / size();
    return masks.subspan(i * width, width);
  }
  /// The last observation of the episode that ended in row i; in any other row, and in a
  /// row that is not valid, observation(i). Bootstrap truncated episodes from it.
  std::span<const float> final_observation(std::size_t i) const {
    return final_observations.empty() || !done(i) || valid[i] == 0
             ? observation(i)
             : row(final_observations, i);
  }
  /// The sum of rewards of the episode that ended in row i; in any other row, of the
  /// episode so far. 0 in a row that is not valid.
  double episode_return(std::size_t i) const { return episode_returns[i]; }
  /// The number of steps of the same episode.
  int episode_length(std::size_t i) const { return episode_lengths[i]; }

  // What the functions above read.
  std::span<const float> final_observations; ///< Only rows that ended hold something.
  std::span<const double> episode_returns;   ///< See episode_return().
  std::span<const int> episode_lengths;      ///< See episode_length().

private:
  std::span<const float> row(std::span<const float> rows, std::size_t i) const {
    const auto width = observations.size() / size();
    return rows.subspan(i * width, width);
  }
};

} // namespace fiber::rl
