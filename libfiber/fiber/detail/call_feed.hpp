// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "fiber/callable.hpp"
#include "fiber/detail/results.hpp"
#include "fiber/value.hpp"

namespace fiber::detail {

/// How long results are kept once they have been read.
enum class Keep {
  all,         ///< Kept until the last handle is gone.
  in_order,    ///< Taken once each, by index.
  as_they_come ///< Taken once each, in order of completion.
};

/// Submits the tasks of one call: packs their arguments and sends them to the pool in
/// batches. If it is destroyed before finish(), it cancels the tasks. Not thread-safe.
class CallFeed {
public:
  class Target; ///< The connection to the pool.

  explicit CallFeed(std::unique_ptr<Target> target);
  CallFeed(CallFeed&&) noexcept;
  CallFeed& operator=(CallFeed&&) = delete;
  ~CallFeed();

  /// Adds a task. Returns true if this sent a batch. If packing throws, nothing is added.
  template <class T>
  bool add(const T& arguments) {
    if (journalled()) {
      compared_.clear();
      auto writer = Writer::comparing(compared_);
      pack<T>(writer, arguments);
      if (auto handed_over = restore())
        return *handed_over;
    }
    KeepScope scope;
    Writer writer(bytes_);
    try {
      pack<T>(writer, arguments);
      return end_task(scope);
    } catch (...) {
      bytes_.resize(ends_.empty() ? 0 : ends_.back());
      throw;
    }
  }
  /// Adds a task whose argument converts to T, such as a proxy.
  template <class T, class U>
  bool add_as(const U& arguments) {
    if constexpr (std::is_same_v<T, U>)
      return add<T>(arguments);
    else
      return add<T>(T(arguments));
  }
  /// Announces the largest possible number of tasks, for the pool and progress displays.
  void expect(std::size_t tasks);
  /// Sends the tasks added since the last batch.
  void flush();
  /// Sends the rest and announces that no more tasks will come.
  void finish();

  /// Makes add() wait while too many tasks are unfinished.
  void limit_window() { limited_ = true; }
  /// Return whether half the window is free, and whether it is full, after `taken`
  /// results were read.
  bool wants(std::size_t taken) const;
  bool full(std::size_t taken) const;

  std::shared_ptr<Results> results() const;

private:
  bool journalled() const;
  /// Restores the result of the next task, whose arguments are in compared_, if the
  /// journal has it. Returns the value for add() to return, or nothing.
  std::optional<bool> restore();
  bool end_task(KeepScope& scope);
  std::size_t to_come() const;
  std::size_t window() const;

  std::unique_ptr<Target> target_;
  Bytes bytes_;
  std::vector<std::uint64_t> ends_;
  KeptObjects kept_;
  std::size_t expected_ = 0; ///< Total number of tasks; 0: unknown.
  std::size_t added_ = 0;    ///< Tasks added, sent or not.
  std::size_t sent_ = 0;     ///< Tasks sent to the pool, not restored.
  std::size_t sent_bytes_ = 0;
  Bytes compared_; ///< One task's arguments, packed for comparison with a journal.
  bool limited_ = false;
};

} // namespace fiber::detail
