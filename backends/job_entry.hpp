// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "backends/backend.hpp"

namespace fiber::backends {

/// What a job receives at its start.
struct JobEntry {
  Bytes boot, keys;                 ///< As in JobSpec.
  UniqueFd link;                    ///< Empty: `boot` says where to dial back.
  std::shared_ptr<SharedPage> page; ///< May be null.
  /// HOST:PORT to dial in place of the address in `boot`; empty: that one.
  std::string driver = {};
};

/// Called first in fiber::init. Returns nothing in a driver, and in a job what it was
/// started with. In a zygote, the process that forks jobs, the call lasts for the
/// zygote's life and returns in each process it forks. Removes FIBER_NODE from the
/// environment, so that programs started by a job are no jobs.
std::optional<JobEntry> enter_job();

} // namespace fiber::backends
