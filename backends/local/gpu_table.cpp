// SPDX-License-Identifier: Apache-2.0
#include "backends/local/gpu_table.hpp"

#include <algorithm>
#include <cerrno>
#include <numeric>
#include <utility>

#include "backends/backend.hpp"

namespace fiber::backends::local {

GpuTable::GpuTable(Gpus gpus, std::size_t jobs_per_gpu)
  : gpus_(std::move(gpus)), jobs_per_gpu_(jobs_per_gpu), jobs_(gpus_.names.size()) {}

std::map<std::string, std::string> GpuTable::take(std::uint64_t job, int n) {
  std::lock_guard lock(mutex_);
  auto wanted = static_cast<std::size_t>(n);
  std::vector<std::size_t> devices(jobs_.size());
  std::iota(devices.begin(), devices.end(), 0);
  std::erase_if(devices, [&](auto device) { return jobs_[device] >= jobs_per_gpu_; });
  if (wanted > devices.size())
    throw EngineError("create job", wanted > jobs_.size() ? ENODEV : EBUSY,
                      std::to_string(n) + " GPUs were asked for, and of the " +
                        std::to_string(jobs_.size()) + " of this machine " +
                        std::to_string(devices.size()) + " are free");
  std::ranges::stable_sort(devices, {}, [&](auto device) { return jobs_[device]; });
  devices.resize(wanted);
  std::string names;
  for (auto device : devices) {
    ++jobs_[device];
    names += (names.empty() ? "" : ",") + gpus_.names[device];
  }
  taken_[job] = std::move(devices);
  auto variables = gpus_.more;
  variables[gpus_.variable] = names;
  return variables;
}

void GpuTable::give_back(std::uint64_t job) {
  std::lock_guard lock(mutex_);
  auto taken = taken_.extract(job);
  if (!taken.empty())
    for (auto device : taken.mapped())
      --jobs_[device];
}

} // namespace fiber::backends::local
