// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>

#include "backends/backend.hpp"

namespace fiber::backends {

/// What a job finds at its start.
struct JobEntry {
  Bytes boot, keys;                 ///< As in JobSpec.
  UniqueFd link;                    ///< Empty: dial back as `boot` says.
  std::shared_ptr<SharedPage> page; ///< May be null.
};

/// Called first thing in fiber::init. Nothing in a driver; in a job, what it was started
/// with. In a zygote this call stays for the zygote's life and returns in each process it
/// forks. FIBER_NODE is removed from the environment, so that what a job starts is no
/// job.
std::optional<JobEntry> enter_job();

} // namespace fiber::backends
