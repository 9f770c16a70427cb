// SPDX-License-Identifier: Apache-2.0
#include "libfiber/session/process_table.hpp"

#include <algorithm>
#include <utility>

#include "fiber/error.hpp"

namespace fiber::detail {

void ProcessTable::add(std::uint64_t number, std::shared_ptr<RunningProcess> process) {
  std::lock_guard lock(mutex_);
  if (closed_)
    throw Closed("the session is ending");
  running_.emplace(number, std::move(process));
}

void ProcessTable::remove(std::uint64_t number) {
  std::shared_ptr<RunningProcess> gone; // Destroyed after the lock is released.
  std::lock_guard lock(mutex_);
  if (auto known = running_.extract(number))
    gone = std::move(known.mapped());
}

std::vector<std::shared_ptr<RunningProcess>> ProcessTable::running() const {
  std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<RunningProcess>> all;
  all.reserve(running_.size());
  for (auto& [number, process] : running_)
    all.push_back(process);
  return all;
}

void ProcessTable::close() {
  auto is_child = [](auto& known) { return !known.second->daemon(); };
  for (;;) { // Other threads, and the processes, may start more.
    for (auto& process : running())
      if (!process->daemon())
        process->await_end();
    std::lock_guard lock(mutex_);
    if (std::ranges::none_of(running_, is_child)) {
      closed_ = true;
      return;
    }
  }
}

void ProcessTable::end() const {
  for (auto& process : running())
    process->end_with_session();
}

} // namespace fiber::detail
