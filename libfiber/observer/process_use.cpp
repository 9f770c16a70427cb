// SPDX-License-Identifier: Apache-2.0
#include "libfiber/observer/process_use.hpp"

#include "libfiber/observer/process_stat.hpp"

namespace fiber::observer {
namespace {

constexpr std::chrono::seconds fresh{2};
/// Up to which a process is read later than `fresh`: a thousand that came at once would
/// all be due in the same picture.
constexpr std::chrono::milliseconds spread{1000};
constexpr std::size_t max_processes = 4096;

} // namespace

std::optional<ProcessUse::Use> ProcessUse::of(pid_t pid) {
  if (pid <= 0)
    return std::nullopt;
  auto now = Clock::now();
  auto due = fresh + std::chrono::milliseconds(pid % spread.count());
  std::lock_guard lock(mutex_);
  if (auto known = known_.find(pid);
      known != known_.end() && now - known->second.at < due)
    return known->second.use;
  if (known_.size() >= max_processes)
    known_.clear();
  std::optional<Use> use;
  if (auto stat = stat_of(pid))
    use = Use{stat->cpu_seconds, stat->memory_bytes};
  known_[pid] = {now, use};
  return use;
}

} // namespace fiber::observer
