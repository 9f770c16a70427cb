// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "actors/node_boot.hpp"
#include "backends/job_entry.hpp"

namespace fiber::actors {

/// The incarnation by which a driver knows its anchor's link.
inline constexpr std::uint64_t anchor_incarnation = UINT64_MAX;

/// Runs this job as its session's anchor: a node without slots, which does nothing but to
/// end with code 0 when the driver is gone, and with another one when it is asked to end,
/// so that whoever made it makes it again.
[[noreturn]] void run_anchor(const backends::JobEntry& entry, const NodeBoot& boot);

} // namespace fiber::actors
