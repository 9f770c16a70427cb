// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

namespace fiber::backends {

/// Returns the pause before retry `number` (from 0) of a request to an engine: an
/// exponential backoff from 0.2 s to 10 s, with jitter, which spreads out the retries of
/// many jobs.
std::chrono::milliseconds retry_pause(int number);

} // namespace fiber::backends
