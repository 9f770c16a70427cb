// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>

namespace fiber::rl::detail {

/// Tells this process from any other one, even from a copy that fork() makes, and from
/// one with the same number in another container.
using ProcessMark = std::array<std::uint64_t, 2>;
ProcessMark process_mark();

/// Ends this process if a call of somebody else's code takes longer than a limit: nothing
/// but the end of its process interrupts a thread that hangs. A thread counts pauses in
/// which the same call runs, so begin() and end() read no clock, and a process that was
/// stopped for a while is not blamed for it. The end comes at most two pauses, of 250 ms
/// or less, and the time of the report after the limit.
///
/// Thread safety: begin() and end() are for one thread at a time.
class CallWatch {
public:
  /// The exit code of a process that ends so, as that of timeout(1).
  static constexpr int exit_code = 124;

  /// `report` is called right before the end, on another thread, with what begin() got.
  /// It has a second; then the process ends anyway.
  CallWatch(std::chrono::milliseconds limit, std::function<void(std::uint32_t)> report);
  ~CallWatch();
  CallWatch(const CallWatch&) = delete;
  CallWatch& operator=(const CallWatch&) = delete;

  /// A call begins; one that has begun before has ended with that.
  void begin(std::uint32_t what) noexcept {
    running_.store((++calls_ << 32) | what, std::memory_order_relaxed);
  }
  void end() noexcept { running_.store(0, std::memory_order_relaxed); }

private:
  void watch(const std::stop_token& stop, std::chrono::milliseconds limit);
  [[noreturn]] void end_process(std::uint32_t what) const noexcept;

  const std::function<void(std::uint32_t)> report_;
  std::atomic<std::uint64_t> running_{0}; ///< The call's number, and what it is.
  std::uint64_t calls_ = 0;
  std::mutex mutex_;
  std::condition_variable_any stopped_;
  std::jthread thread_; // The last member: it uses the others.
};

} // namespace fiber::rl::detail
