// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace fiber::detail {

/// In a driver that is the first process of its container: lets SIGINT and SIGTERM end
/// it, as they end any other process. The kernel ignores signals for which such a process
/// has no handler, so `docker stop` would have to kill it. Handlers of the program's own
/// stay.
void obey_signals_as_first_process();

} // namespace fiber::detail
