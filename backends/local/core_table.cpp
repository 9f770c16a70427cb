// SPDX-License-Identifier: Apache-2.0
#include "backends/local/core_table.hpp"

#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <cmath>

#include "backends/engine/errors.hpp"

namespace fiber::backends::local {

CoreTable::CoreTable(const std::vector<int>& cores) {
  for (auto core : cores)
    jobs_[core] = 0;
}

std::vector<int> CoreTable::here() {
  std::vector<int> cores;
  cpu_set_t allowed;
  if (::sched_getaffinity(0, sizeof allowed, &allowed) == 0)
    for (int core = 0; core < CPU_SETSIZE; ++core)
      if (CPU_ISSET(core, &allowed))
        cores.push_back(core);
  return cores;
}

std::vector<int> CoreTable::take(std::uint64_t job, double cpu) {
  if (!(cpu > 1))
    return {};
  std::lock_guard lock(mutex_);
  std::vector<int> cores;
  for (auto& [core, jobs] : jobs_)
    cores.push_back(core);
  std::ranges::stable_sort(cores, {}, [&](int core) { return jobs_[core]; });
  auto all = static_cast<double>(cores.size());
  cores.resize(static_cast<std::size_t>(std::min(std::ceil(cpu), all)));
  std::ranges::sort(cores);
  for (auto core : cores)
    ++jobs_[core];
  return taken_[job] = cores;
}

void CoreTable::give_back(std::uint64_t job) {
  std::lock_guard lock(mutex_);
  auto taken = taken_.extract(job);
  if (!taken.empty())
    for (auto core : taken.mapped())
      --jobs_[core];
}

void pin_to(const std::vector<int>& cores) {
  if (cores.empty())
    return;
  cpu_set_t those;
  CPU_ZERO(&those);
  for (auto core : cores)
    CPU_SET(core, &those);
  if (::sched_setaffinity(0, sizeof those, &those) != 0)
    throw engine_error("keep to cores", errno);
}

} // namespace fiber::backends::local
