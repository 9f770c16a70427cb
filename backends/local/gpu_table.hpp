// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace fiber::backends::local {

/// The GPUs that this process may use.
struct Gpus {
  /// The variable by which a program learns which of them it may use.
  std::string variable = "CUDA_VISIBLE_DEVICES";
  std::vector<std::string> names; ///< As in the variable: "GPU-UUID", "MIG-UUID", "0".
  /// What must be set besides, so that names that are numbers mean the same devices in
  /// each program.
  std::map<std::string, std::string> more = {};

  /// Returns those of this machine: the ones that CUDA_VISIBLE_DEVICES names in this
  /// process's environment; else those of NVIDIA, of which there is a device file; else
  /// those of AMD, in the same way. Tests pass a folder as `root` in place of "/".
  static Gpus here(const std::string& root = "");
};

/// Assigns GPUs to jobs. Thread-safe.
class GpuTable {
public:
  /// At most `jobs_per_gpu` jobs get the same device.
  explicit GpuTable(Gpus gpus, std::size_t jobs_per_gpu = 1);

  /// Assigns `n` different devices to a job, those with the fewest jobs, and returns the
  /// variables that name them. Throws EngineError if fewer are free.
  std::map<std::string, std::string> take(std::uint64_t job, int n);
  void give_back(std::uint64_t job);

private:
  std::mutex mutex_;
  const Gpus gpus_;
  const std::size_t jobs_per_gpu_;
  std::vector<std::size_t> jobs_; ///< Number of jobs, by device.
  std::map<std::uint64_t, std::vector<std::size_t>> taken_;
};

} // namespace fiber::backends::local
