// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace fiber::detail {

/// Throws BackendError unless the threads of a session can run at once. CAF ends the
/// program if it can't start its own threads.
void check_threads();

} // namespace fiber::detail
