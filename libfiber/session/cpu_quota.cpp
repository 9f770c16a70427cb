// SPDX-License-Identifier: Apache-2.0
#include "libfiber/session/cpu_quota.hpp"

#include <cstdlib>
#include <fstream>
#include <optional>

#include "backends/container/control_group.hpp"

namespace fiber {
namespace {

/// Returns the CPU limit of the control group in `folder`, without those of its parents.
std::optional<double> limit_of(const std::string& folder) {
  double period = 0;
  std::string most;
  if (std::ifstream file(folder + "/cpu.max"); file >> most >> period) { // Version 2.
    auto quota = std::strtod(most.c_str(), nullptr); // "max" reads as 0.
    return quota > 0 && period > 0 ? std::optional(quota / period) : std::nullopt;
  }
  double quota = 0; // Version 1.
  std::ifstream(folder + "/cpu.cfs_quota_us") >> quota;
  std::ifstream(folder + "/cpu.cfs_period_us") >> period;
  return quota > 0 && period > 0 ? std::optional(quota / period) : std::nullopt;
}

} // namespace

double cpu_quota(const std::string& root) {
  double least = 0;
  for (const auto& folder : backends::control_groups("cpu", root))
    if (auto limit = limit_of(folder); limit && (least == 0 || *limit < least))
      least = *limit;
  return least;
}

} // namespace fiber
