// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace fiber::rl::ppo {

/// What a recurrent policy learns from besides the rows of a rollout: which rows follow
/// each other. The numbers behind "detail" are those of docs/rl/ppo-checklist.md.
struct Sequences {
  /// The environment of each row. Rows of one environment are in the order of time.
  std::span<const std::uint32_t> environments = {};
  /// 1 where an episode begins with the row, so that the memory before it is 0 (detail
  /// 34). 0 in the first row of the rollout, before which the memory is `memory`.
  std::span<const std::uint8_t> begins = {};
  /// What the policy remembered of each environment when the rollout began,
  /// PolicySpec::memory_size() floats.
  std::span<const float> memory = {};
  std::size_t memory_size = 0; ///< 0: the policy is not recurrent.

  std::size_t size() const { return memory_size == 0 ? 0 : memory.size() / memory_size; }
};

/// Sequences step after step, as an LSTM runs through them: first a row of each, then the
/// second row of each. Those of more rows come first, so that the sequences that have a
/// row at a step are always the first ones.
struct PackedSequences {
  std::span<const std::size_t> steps =
    {}; ///< How many sequences have a row at each step.
  std::span<const std::uint8_t> begins = {}; ///< As in Sequences.
  std::span<const float> memory = {};        ///< Of each sequence.
  std::size_t memory_size = 0;
};

/// Packs the sequences of some environments, in memory that is kept for the next ones.
class SequencePacker {
public:
  /// The result of packed(), and the number of each of its rows in `all`, are valid until
  /// the next call.
  void pack(const Sequences& all, std::span<const std::size_t> environments);
  PackedSequences packed() const { return {steps_, begins_, memory_, memory_size_}; }
  std::span<const std::size_t> rows() const { return rows_; }

private:
  std::vector<std::vector<std::size_t>> of_; ///< The rows of each environment.
  std::vector<std::size_t> order_, steps_, rows_;
  std::vector<std::uint8_t> begins_;
  std::vector<float> memory_;
  std::size_t memory_size_ = 0;
};

} // namespace fiber::rl::ppo
