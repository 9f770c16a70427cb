// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace fiber::backends {

/// The variable of a job's environment with the address at which other jobs reach it, if
/// that is not its own address on the way to the driver.
inline constexpr auto job_address = "FIBER_JOB_ADDRESS";

} // namespace fiber::backends
