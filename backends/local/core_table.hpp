// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

namespace fiber::backends::local {

/// Pins jobs that ask for more than one core to cores of this machine. Other jobs are not
/// pinned. Thread-safe.
class CoreTable {
public:
  explicit CoreTable(const std::vector<int>& cores);
  /// Returns the cores that this process may use.
  static std::vector<int> here();

  /// Returns cores for a job that asks for `cpu`: as many, rounded up, or all if there
  /// are fewer; the cores with the fewest jobs. Empty if the job is not to be pinned.
  std::vector<int> take(std::uint64_t job, double cpu);
  void give_back(std::uint64_t job);

private:
  std::mutex mutex_;
  std::map<int, int> jobs_; ///< Number of pinned jobs, by core.
  std::map<std::uint64_t, std::vector<int>> taken_;
};

/// In a job: pins this process and its children to `cores`; does nothing if empty. Throws
/// EngineError.
void pin_to(const std::vector<int>& cores);

} // namespace fiber::backends::local
