// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <utility>

namespace fiber::actors {

/// A value that one thread sets once and others wait for.
template <class T>
class Reply {
public:
  void set(T value) {
    {
      std::lock_guard lock(mutex_);
      if (set_)
        return;
      set_ = true;
      value_ = std::move(value);
    }
    changed_.notify_all();
  }
  bool is_set() const {
    std::lock_guard lock(mutex_);
    return set_;
  }
  /// Waits until the value is set; false if `limit` passed first.
  bool wait_until(std::chrono::steady_clock::time_point limit) const {
    std::unique_lock lock(mutex_);
    if (limit == std::chrono::steady_clock::time_point::max()) {
      changed_.wait(lock, [&] { return set_; });
      return true;
    }
    return changed_.wait_until(lock, limit, [&] { return set_; });
  }
  /// Returns the value, which must be set.
  T value() const {
    std::lock_guard lock(mutex_);
    return value_;
  }

private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  bool set_ = false;
  T value_{};
};

/// Set when something is done.
using Signal = Reply<bool>;
/// Set when the workers are ready (null) or can't be (the reason).
using WorkersReply = Reply<std::exception_ptr>;

} // namespace fiber::actors
