// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace fiber::backends::local {

/// Which job has which of this machine's GPUs. Thread-safe.
class GpuTable {
public:
  /// Names of devices, as CUDA_VISIBLE_DEVICES has them.
  explicit GpuTable(std::vector<std::string> devices) : free_(std::move(devices)) {}
  /// Those that this process may use: as its CUDA_VISIBLE_DEVICES says, else all.
  static std::vector<std::string> here();

  /// The value of CUDA_VISIBLE_DEVICES for a job that is to have `n`. Throws EngineError
  /// if there are not so many free.
  std::string take(std::uint64_t job, int n);
  void give_back(std::uint64_t job);

private:
  std::mutex mutex_;
  std::vector<std::string> free_;
  std::map<std::uint64_t, std::vector<std::string>> taken_;
};

} // namespace fiber::backends::local
