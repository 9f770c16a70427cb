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

/// Receives the results of one call. The pool's actor calls it; it must not block.
class ResultSink {
public:
  virtual ~ResultSink() = default;
  virtual void deliver(std::vector<Completion> completions) = 0;
};

/// One use of the pool: a callable and where its results go.
struct Call {
  std::uint64_t id = 0; ///< Unique within the pool.
  AnyCallable callable;
  std::size_t chunksize = 0; ///< Tasks sent to a worker at a time; 0: the pool chooses.
  /// A task that runs for longer than this many times the median is copied to an idle
  /// worker; 0: no task is.
  double speculate = 0;
  bool single = false; ///< The call has one task, so workers need not keep the callable.
  std::shared_ptr<ResultSink> sink;
};

/// Consecutive tasks of a call with their packed arguments.
struct TaskBatch {
  std::shared_ptr<const Call> call;
  std::size_t first = 0;           ///< Index of the first task.
  std::vector<std::uint64_t> ends; ///< Where each task's arguments end in `arguments`.
  Payload arguments;
  detail::KeptObjects kept; ///< The objects that handles in `arguments` refer to.
  std::size_t to_come = 0;  ///< Estimate of the tasks that follow soon; 0: unknown.

  std::size_t size() const { return ends.size(); }
  std::uint64_t begin_of(std::size_t i) const { return i == 0 ? 0 : ends[i - 1]; }
};

} // namespace fiber::actors
