// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <vector>

#include "actors/core/reply.hpp"
#include "actors/protocol/call.hpp"
#include "fiber/pool_stats.hpp"

namespace fiber::actors {

using StatsReply = Reply<PoolStats>;

/// A histogram of durations in steps of a quarter octave: percentiles are within 13 %, at
/// a fixed size.
class DurationCounts {
public:
  void add(std::uint64_t ns, std::uint64_t times) {
    counts_[step(ns)] += times;
    total_ += times;
    sum_ns_ += ns * times;
  }
  /// Adds the tasks of one frame, of which only the sum and the longest duration are
  /// known: the others count with their mean. They were not longer than a slot holds
  /// results back: half a millisecond, and 0.1 ms for each worker if there are many.
  void add(std::uint64_t sum_ns, std::uint64_t longest_ns, std::uint64_t times) {
    if (times == 0)
      return;
    longest_ns = std::clamp(longest_ns, sum_ns / times, sum_ns); // Input from a peer.
    add(longest_ns, 1);
    if (times > 1)
      add((sum_ns - longest_ns) / (times - 1), times - 1);
  }
  std::uint64_t total() const { return total_; }
  std::uint64_t sum_ns() const { return sum_ns_; }
  /// Returns how many were shorter than 2^octave ns.
  std::uint64_t below(std::size_t octave) const {
    auto end = octave < 2 ? std::size_t{1} << octave : octave * 4 - 4;
    return std::accumulate(counts_.begin(),
                           counts_.begin() + static_cast<std::ptrdiff_t>(end),
                           std::uint64_t{0});
  }
  std::uint64_t percentile_ns(double share) const {
    auto rank = static_cast<std::uint64_t>(share * static_cast<double>(total_));
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < counts_.size(); ++i)
      if (seen += counts_[i]; seen > rank)
        return middle(i);
    return 0;
  }

private:
  static std::size_t step(std::uint64_t ns) {
    if (ns < 4)
      return ns;
    auto octave = static_cast<std::size_t>(std::bit_width(ns)) - 1;
    return octave * 4 + (ns >> (octave - 2)) % 4 - 4;
  }
  static std::uint64_t middle(std::size_t i) {
    if (i < 4)
      return i;
    auto octave = (i + 4) / 4;
    auto quarter = std::uint64_t{1} << (octave - 2);
    return (4 + i % 4) * quarter + quarter / 2;
  }

  std::array<std::uint64_t, 256> counts_{};
  std::uint64_t total_ = 0;
  std::uint64_t sum_ns_ = 0;
};

/// How far a call has come that has not ended.
struct CallProgress {
  std::shared_ptr<const Call> call;
  std::size_t submitted = 0, ended = 0;
  std::size_t to_come = 0;    ///< Estimate of the tasks that will follow soon.
  bool all_submitted = false; ///< No more tasks will come.
};

/// The tasks that a node has, started or not.
struct NodeLoad {
  std::uint64_t incarnation = 0;
  std::size_t tasks = 0;
};

/// The statistics of a pool, with the durations of its tasks, and what it does now.
struct PoolReport {
  PoolStats stats;
  DurationCounts durations;
  std::size_t wanted = 0;               ///< Workers that it tries to have.
  std::vector<CallProgress> calls = {}; ///< By their numbers.
  std::vector<NodeLoad> nodes = {};     ///< Those that are up.
};
using ReportReply = Reply<PoolReport>;

} // namespace fiber::actors
