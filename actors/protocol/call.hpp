// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "fiber/callable.hpp"
#include "fiber/detail/results.hpp"

namespace fiber::actors {

/// A task that has ended.
struct Completion {
  std::size_t index = 0;
  detail::RawOutcome outcome;
};

/// Takes the results of one call. Called by the pool's actor; must not block.
class ResultSink {
public:
  virtual ~ResultSink() = default;
  virtual void deliver(std::vector<Completion> completions) = 0;
};

/// One use of the pool: a callable and where its results go.
struct Call {
  std::uint64_t id = 0; ///< Unique within the pool.
  AnyCallable callable;
  std::size_t chunksize = 0; ///< Tasks handed to a worker at a time; 0: as many as suit.
  /// A task that runs for longer than so many times the median gets a second copy on an
  /// idle worker; 0: none does.
  double speculate = 0;
  bool single = false; ///< Exactly one task: workers need not remember the callable.
  std::shared_ptr<ResultSink> sink;
};

/// Consecutive tasks of a call with their packed arguments.
struct Batch {
  std::shared_ptr<const Call> call;
  std::size_t first = 0;           ///< Index of the first task.
  std::vector<std::uint64_t> ends; ///< Where each task's arguments end in `arguments`.
  Payload arguments;
  detail::KeptObjects kept; ///< What packed handles refer to.
  std::size_t to_come = 0;  ///< About how many tasks will follow soon; 0: unknown.

  std::size_t size() const { return ends.size(); }
  std::uint64_t begin_of(std::size_t i) const { return i == 0 ? 0 : ends[i - 1]; }
};

} // namespace fiber::actors
