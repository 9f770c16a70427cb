// SPDX-License-Identifier: Apache-2.0
// This folder has all that differs between CAF 0.17 and 0.18. Nothing else asks for CAF's
// version.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include <caf/actor_system_config.hpp>

namespace fiber::detail {

/// Sets CAF's scheduler: "sharing", or "testing" for a caf::scheduler::test_coordinator.
inline void set_scheduler(caf::actor_system_config& config, const std::string& policy) {
#if CAF_VERSION < 1800
  config.set("scheduler.policy", caf::atom_from_string(policy));
#else
  config.set("caf.scheduler.policy", policy);
#endif
}

/// Sets how many threads a scheduler has. Default: one for each processor.
inline void set_scheduler_threads(caf::actor_system_config& config, std::size_t threads) {
#if CAF_VERSION < 1800
  config.set("scheduler.max-threads", threads);
#else
  config.set("caf.scheduler.max-threads", threads);
#endif
}

/// Returns when the next timeout of a test coordinator's clock is due.
template <class Clock>
std::optional<typename Clock::time_point> next_timeout(const Clock& clock) {
#if CAF_VERSION < 1800
  const auto& schedule = clock.schedule();
#else
  const auto& schedule = clock.schedule;
#endif
  return schedule.empty() ? std::nullopt : std::optional(schedule.begin()->first);
}

} // namespace fiber::detail
