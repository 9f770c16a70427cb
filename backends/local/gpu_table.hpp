// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace fiber::backends::local {

/// Assigns this machine's GPUs to jobs. Thread-safe.
class GpuTable {
public:
  /// `devices` are names as in CUDA_VISIBLE_DEVICES.
  explicit GpuTable(std::vector<std::string> devices) : free_(std::move(devices)) {}
  /// Returns the devices that this process may use: its CUDA_VISIBLE_DEVICES, or all.
  static std::vector<std::string> here();

  /// Assigns `n` devices to a job and returns its CUDA_VISIBLE_DEVICES. Throws
  /// EngineError if fewer are free.
  std::string take(std::uint64_t job, int n);
  void give_back(std::uint64_t job);

private:
  std::mutex mutex_;
  std::vector<std::string> free_;
  std::map<std::uint64_t, std::vector<std::string>> taken_;
};

} // namespace fiber::backends::local
