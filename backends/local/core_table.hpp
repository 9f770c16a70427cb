// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

namespace fiber::backends::local {

/// Which job is kept to which of this machine's cores: one that asks for more than one.
/// The others go where the kernel sees fit. Thread-safe.
class CoreTable {
public:
  explicit CoreTable(const std::vector<int>& cores);
  /// Those that this process may use.
  static std::vector<int> here();

  /// For a job that asks for `cpu`: as many, rounded up, or all if there are not so
  /// many; those that fewest jobs are kept to. Empty: it is kept to none.
  std::vector<int> take(std::uint64_t job, double cpu);
  void give_back(std::uint64_t job);

private:
  std::mutex mutex_;
  std::map<int, int> jobs_; ///< By core, how many are kept to it.
  std::map<std::uint64_t, std::vector<int>> taken_;
};

/// In a job: keeps this process, and what it starts, to these. None: leaves it alone.
/// Throws EngineError.
void keep_to(const std::vector<int>& cores);

} // namespace fiber::backends::local
