// SPDX-License-Identifier: Apache-2.0
#include "libfiber/process_table.hpp"

#include <algorithm>
#include <utility>

#include "libfiber/process_core.hpp"

namespace fiber::detail {

void ProcessTable::add(std::uint64_t number, std::shared_ptr<ProcessCore> process) {
  std::lock_guard lock(mutex_);
  running_.emplace(number, std::move(process));
}

void ProcessTable::remove(std::uint64_t number) {
  std::shared_ptr<ProcessCore> gone; // Not under the lock.
  std::lock_guard lock(mutex_);
  if (auto known = running_.extract(number))
    gone = std::move(known.mapped());
}

std::vector<std::shared_ptr<ProcessCore>> ProcessTable::running() const {
  std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<ProcessCore>> all;
  all.reserve(running_.size());
  for (auto& [number, process] : running_)
    all.push_back(process);
  return all;
}

void ProcessTable::join() const {
  for (;;) { // Others may start some meanwhile.
    auto all = running();
    auto child =
      std::ranges::find_if(all, [](auto& process) { return !process->daemon(); });
    if (child == all.end())
      return;
    (*child)->await_end();
  }
}

void ProcessTable::end() const {
  for (auto& process : running())
    process->end_with_session();
}

} // namespace fiber::detail
