// SPDX-License-Identifier: Apache-2.0
#include "libfiber/session/cpu_quota.hpp"

#include <sched.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <optional>
#include <thread>

#include "backends/container/control_group.hpp"
#include "fiber/detail/classic_locale.hpp"

namespace fiber {
namespace {

/// Returns the CPU limit of the control group in `folder`, without those of its parents.
std::optional<double> limit_of(const std::string& folder) {
  double period = 0;
  std::string most;
  if (fiber::detail::Classic<std::ifstream> file(folder + "/cpu.max");
      file >> most >> period) { // Version 2.
    double quota = 0;           // "max" leaves that.
    std::from_chars(most.data(), most.data() + most.size(), quota);
    return quota > 0 && period > 0 ? std::optional(quota / period) : std::nullopt;
  }
  double quota = 0; // Version 1.
  fiber::detail::Classic<std::ifstream>(folder + "/cpu.cfs_quota_us") >> quota;
  fiber::detail::Classic<std::ifstream>(folder + "/cpu.cfs_period_us") >> period;
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

std::size_t usable_cores() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  auto cores = sched_getaffinity(0, sizeof allowed, &allowed) == 0
                 ? static_cast<std::size_t>(CPU_COUNT(&allowed))
                 : std::size_t{std::thread::hardware_concurrency()};
  if (auto limit = cpu_quota(); limit > 0)
    cores = std::min(cores, static_cast<std::size_t>(std::ceil(limit)));
  return std::max<std::size_t>(1, cores);
}

} // namespace fiber
