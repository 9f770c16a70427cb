// SPDX-License-Identifier: Apache-2.0
#include "bench/paper/killer.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string>
#include <system_error>

#include <signal.h>

namespace paper {
namespace {

/// Whether this is a process of this program: a pid may have been given to another one.
bool is_ours(pid_t pid) {
  std::error_code failed;
  const auto theirs =
    std::filesystem::read_symlink("/proc/" + std::to_string(pid) + "/exe", failed);
  return !failed && theirs == std::filesystem::read_symlink("/proc/self/exe");
}

} // namespace

Killer::Killer(double share, std::size_t workers)
  : share_(share * static_cast<double>(workers)), random_(1) {}

void Killer::saw(pid_t pid) {
  if (share_ > 0)
    seen_.push_back(pid);
}

void Killer::begin(double seconds) {
  if (share_ <= 0)
    return;
  std::ranges::sort(seen_);
  const auto twice = std::ranges::unique(seen_);
  seen_.erase(twice.begin(), twice.end());
  owed_ += share_;
  thread_ =
    std::jthread([this, seconds](const std::stop_token& stop) { run(stop, seconds); });
}

void Killer::end() {
  if (thread_.joinable()) {
    thread_.request_stop();
    thread_.join();
  }
  seen_.clear();
}

void Killer::run(const std::stop_token& stop, double seconds) {
  std::vector<double> times(static_cast<std::size_t>(owed_));
  for (auto& time : times)
    time = random_.uniform(0, seconds);
  std::ranges::sort(times);
  const auto begin = std::chrono::steady_clock::now();
  for (double time : times) {
    std::unique_lock lock(mutex_);
    wake_.wait_until(lock, stop,
                     begin + std::chrono::duration_cast<std::chrono::nanoseconds>(
                               std::chrono::duration<double>(time)),
                     [] { return false; });
    if (stop.stop_requested() || seen_.empty())
      return;
    const auto at = static_cast<std::ptrdiff_t>(random_.below(seen_.size()));
    const pid_t victim = seen_[static_cast<std::size_t>(at)];
    seen_.erase(seen_.begin() + at);
    if (is_ours(victim) && ::kill(victim, SIGKILL) == 0) {
      ++killed_;
      owed_ -= 1;
    }
  }
}

} // namespace paper
