// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/unique_fd.hpp"

namespace fiber::backends {

/// An event loop on a thread of its own, for descriptors and timers. The thread blocks
/// all signals, so that the program's handlers run on the program's threads.
///
/// Thread safety: post() from any thread; the rest on the loop's thread only.
class Loop {
public:
  using Clock = std::chrono::steady_clock;
  using Timer = std::pair<Clock::time_point, std::uint64_t>;
  using Ready = std::function<void(std::uint32_t events)>;

  Loop();
  ~Loop();
  /// Ends the thread; functions posted later do not run. Must not be called on it.
  void stop();

  /// Runs `f` soon.
  void post(std::function<void()> f);
  /// Calls `f` whenever `fd` has one of `events` (EPOLLIN..). Returns false if the
  /// descriptor cannot be polled.
  bool watch(int fd, std::uint32_t events, Ready f);
  /// Must be called before `fd` is closed.
  void unwatch(int fd);
  Timer after(std::chrono::milliseconds delay, std::function<void()> f);
  void cancel(Timer timer) { timers_.erase(timer); }

private:
  void run();
  void run_posted();
  int run_timers();

  struct Watch {
    std::uint64_t token = 0;
    std::shared_ptr<Ready> f;
  };

  UniqueFd epoll_, wake_;
  std::unordered_map<int, Watch> watches_;
  std::unordered_map<std::uint64_t, int> tokens_; // Detects stale events.
  std::map<Timer, std::function<void()>> timers_;
  std::uint64_t last_token_ = 0;
  std::mutex mutex_; // Guards posted_ and stopping_.
  std::vector<std::function<void()>> posted_;
  bool stopping_ = false;
  std::thread thread_;
};

} // namespace fiber::backends
