// SPDX-License-Identifier: Apache-2.0
#include "backends/local/gpu_table.hpp"

#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <utility>

#include "backends/backend.hpp"
#include "fiber/detail/classic_locale.hpp"

namespace fiber::backends::local {

std::vector<std::string> GpuTable::here() {
  std::vector<std::string> devices;
  if (auto* visible = std::getenv("CUDA_VISIBLE_DEVICES")) {
    fiber::detail::Classic<std::istringstream> list(visible);
    for (std::string device; std::getline(list, device, ',');)
      if (!device.empty() && device != "-1")
        devices.push_back(device);
    return devices;
  }
  for (int i = 0; std::filesystem::exists("/dev/nvidia" + std::to_string(i)); ++i)
    devices.push_back(std::to_string(i));
  return devices;
}

std::string GpuTable::take(std::uint64_t job, int n) {
  std::lock_guard lock(mutex_);
  if (static_cast<std::size_t>(n) > free_.size()) {
    auto all = free_.size();
    for (auto& [other, devices] : taken_)
      all += devices.size();
    throw EngineError("create job", 0,
                      std::to_string(n) + " GPUs were asked for, and of the " +
                        std::to_string(all) + " of this machine " +
                        std::to_string(free_.size()) + " are free");
  }
  auto& taken = taken_[job];
  std::string value;
  for (; n > 0; --n) {
    value += (value.empty() ? "" : ",") + free_.front();
    taken.push_back(std::move(free_.front()));
    free_.erase(free_.begin());
  }
  return value;
}

void GpuTable::give_back(std::uint64_t job) {
  std::lock_guard lock(mutex_);
  auto taken = taken_.extract(job);
  if (!taken.empty())
    free_.insert(free_.begin(), taken.mapped().begin(), taken.mapped().end());
}

} // namespace fiber::backends::local
