// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <stdexcept>
#include <string>

#include <fiber/fiber.hpp>

#include "rl/poet/evaluation.hpp"

namespace fiber::rl::poet {

/// The user ended the program in the middle of an iteration.
class Interrupted : public std::runtime_error {
public:
  Interrupted() : std::runtime_error("interrupted") {}
};

/// How many workers there are: `least` for one pair, `most` for as many pairs as there
/// may be, and in proportion in between.
struct WorkerRange {
  std::size_t least = 1, most = 1;

  /// At least 1.
  std::size_t for_pairs(std::size_t pairs, std::size_t max_pairs) const;
};

/// "4" or "2..8". Throws std::invalid_argument, saying what would be right.
WorkerRange parse_workers(const std::string& text);

/// Plays on the workers of a pool. Each call becomes a map: what its tasks have in common
/// is bound and sent once to each job, and a task is eight bytes.
class PoolEvaluator final : public Evaluator {
public:
  /// All must outlive this. A result that is waited for calls `meanwhile` five times a
  /// second, and throws Interrupted when `stop` is not 0.
  PoolEvaluator(fiber::Pool& pool, fiber::SharedArray<float> noise,
                const std::atomic<int>& stop, std::function<void()> meanwhile);

  Later<std::vector<Trial>> try_directions(Job job,
                                           std::vector<std::uint64_t> offsets) override;
  Later<std::vector<Played>> play(Job job, std::uint64_t count) override;
  /// As trace_episode(), for each of the jobs, with the episode that is its `index`.
  Later<std::vector<Trace>> trace(std::vector<Job> jobs,
                                  std::vector<std::uint64_t> indices);

private:
  template <class T>
  Later<std::vector<T>> later(fiber::MapResult<T> result);

  fiber::Pool& pool_;
  fiber::SharedArray<float> noise_;
  const std::atomic<int>& stop_;
  std::function<void()> meanwhile_;
};

} // namespace fiber::rl::poet
