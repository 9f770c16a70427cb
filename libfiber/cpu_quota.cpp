// SPDX-License-Identifier: Apache-2.0
#include "libfiber/cpu_quota.hpp"

#include <cstdlib>
#include <fstream>
#include <optional>

namespace fiber {
namespace {

/// What the group in `folder` sets itself.
std::optional<double> limit_of(const std::string& folder) {
  double period = 0;
  std::string most;
  if (std::ifstream file(folder + "/cpu.max"); file >> most >> period) { // Version 2.
    auto quota = std::strtod(most.c_str(), nullptr);                     // "max": 0
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
  auto walk_up = [&](const std::string& top, std::string group) {
    for (;;) {
      if (auto limit = limit_of(top + group); limit && (least == 0 || *limit < least))
        least = *limit;
      auto slash = group.rfind('/');
      if (group.empty() || slash == group.npos)
        return;
      group.resize(slash);
    }
  };
  std::ifstream groups(root + "/proc/self/cgroup");
  // Lines such as "0::/user.slice/job" and "4:cpu,cpuacct:/job". A container may see the
  // names of the host's groups there, which do not exist for it: then the top is its own.
  for (std::string line; std::getline(groups, line);) {
    auto first = line.find(':'), second = line.find(':', first + 1);
    if (second == line.npos)
      continue;
    std::string controllers(1, ',');
    controllers.append(line, first + 1, second - first - 1).append(1, ',');
    auto group = line.substr(second + 1);
    if (controllers == ",,")
      walk_up(root + "/sys/fs/cgroup", group);
    else if (controllers.find(",cpu,") != controllers.npos)
      walk_up(root + "/sys/fs/cgroup/cpu", group);
  }
  return least;
}

} // namespace fiber
