// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

namespace fiber::backends {

/// Returns the pause before retry `number` (from 0) of a request to an engine: an
/// exponential backoff from `first` to `max`, with jitter, which spreads out the retries
/// of many jobs.
std::chrono::milliseconds
retry_pause(int number, std::chrono::milliseconds first = std::chrono::milliseconds(200),
            std::chrono::milliseconds max = std::chrono::seconds(10));

} // namespace fiber::backends
