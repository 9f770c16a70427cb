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

/// What happens to results that have been read.
enum class Keep {
  all,         ///< They stay until the last handle is gone.
  in_order,    ///< Each is taken once, by index.
  as_they_come ///< Each is taken once, in the order in which tasks end.
};

/// Gives one call its tasks: packs their arguments and hands them to the pool many at a
/// time. If it ends before finish(), the tasks that were handed over are cancelled. Not
/// thread-safe.
class CallFeed {
public:
  /// The pool's end.
  class Target;

  explicit CallFeed(std::unique_ptr<Target> target);
  CallFeed(CallFeed&&) noexcept;
  CallFeed& operator=(CallFeed&&) = delete;
  ~CallFeed();

  /// Adds one task. Returns whether it has handed tasks over. Throws what packing throws;
  /// then nothing was added.
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
  /// The same for an item that converts to the argument's type, such as a proxy.
  template <class T, class U>
  bool add_as(const U& arguments) {
    if constexpr (std::is_same_v<T, U>)
      return add<T>(arguments);
    else
      return add<T>(T(arguments));
  }
  /// How many tasks there will be at most: a hint for the pool and for the progress line.
  void expect(std::size_t tasks);
  /// Hands over the tasks that have gathered.
  void flush();
  /// Says that no more tasks will come.
  void finish();

  /// From now on add() waits while too many tasks are unfinished.
  void limit_window() { limited_ = true; }
  /// Whether half of the window is free, and whether none of it is, when `taken` results
  /// were read.
  bool wants(std::size_t taken) const;
  bool full(std::size_t taken) const;

  std::shared_ptr<Results> results() const;

private:
  bool journalled() const;
  /// Takes the result of the next task, whose arguments are in compared_, from the
  /// journal if it has that; then returns what add() returns.
  std::optional<bool> restore();
  bool end_task(KeepScope& scope);
  std::size_t to_come() const;
  std::size_t window() const;

  std::unique_ptr<Target> target_;
  Bytes bytes_;
  std::vector<std::uint64_t> ends_;
  KeptObjects kept_;
  std::size_t expected_ = 0;   ///< Tasks in all; 0: unknown.
  std::size_t added_ = 0;      ///< Tasks, handed over or not.
  std::size_t sent_ = 0;       ///< Tasks that were handed over.
  std::size_t sent_bytes_ = 0; ///< Their bytes.
  Bytes compared_;             ///< One task's arguments as a journal compares them.
  bool limited_ = false;
};

} // namespace fiber::detail
