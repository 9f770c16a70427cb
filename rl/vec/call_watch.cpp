// SPDX-License-Identifier: Apache-2.0
#include "fiber/rl/detail/call_watch.hpp"

#include <algorithm>
#include <csignal>
#include <ctime>
#include <random>
#include <utility>

#include <unistd.h>

namespace fiber::rl::detail {

ProcessMark process_mark() {
  static const std::uint64_t drawn = [] {
    std::random_device random;
    return (std::uint64_t{random()} << 32) | random();
  }();
  return {drawn, static_cast<std::uint64_t>(::getpid())};
}

namespace {

/// Has the kernel end this process after a second, whatever locks its threads wait for.
void end_soon() noexcept {
  sigevent event{};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = SIGKILL;
  timer_t timer{};
  itimerspec when{};
  when.it_value.tv_sec = 1;
  if (::timer_create(CLOCK_MONOTONIC, &event, &timer) == 0)
    ::timer_settime(timer, 0, &when, nullptr);
}

} // namespace

CallWatch::CallWatch(std::chrono::milliseconds limit,
                     std::function<void(std::uint32_t)> report)
  : report_(std::move(report)),
    thread_([this, limit](const std::stop_token& stop) { watch(stop, limit); }) {}

CallWatch::~CallWatch() = default;

void CallWatch::watch(const std::stop_token& stop, std::chrono::milliseconds limit) {
  using std::chrono::milliseconds;
  const auto pause = std::clamp(limit / 8, milliseconds(1), milliseconds(250));
  const auto most = limit / pause + (limit % pause == milliseconds(0) ? 0 : 1);
  std::unique_lock lock(mutex_);
  std::uint64_t seen = 0;
  milliseconds::rep pauses = 0; // In which `seen` ran.
  while (!stopped_.wait_for(lock, stop, pause, [&] { return stop.stop_requested(); })) {
    const auto running = running_.load(std::memory_order_relaxed);
    pauses = running != 0 && running == seen ? pauses + 1 : 0;
    seen = running;
    if (pauses >= most)
      end_process(static_cast<std::uint32_t>(running));
  }
}

void CallWatch::end_process(std::uint32_t what) const noexcept {
  end_soon();
  try {
    report_(what);
  } catch (...) {
    // It can't be told, as after the end of the session. The end says enough.
  }
  ::_exit(exit_code);
}

} // namespace fiber::rl::detail
