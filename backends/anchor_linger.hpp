// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace fiber::backends {

/// The variable of an anchor's environment with the number of seconds that the anchor
/// stays after its driver has gone. Without it the anchor ends at once.
inline constexpr auto anchor_linger = "FIBER_ANCHOR_LINGER";

} // namespace fiber::backends
