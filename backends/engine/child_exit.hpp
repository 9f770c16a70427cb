// SPDX-License-Identifier: Apache-2.0
// engine/ holds what several backends share: the event loop, child processes, the table
// of jobs, message channels.
#pragma once

#include <functional>

#include "backends/engine/job_exit.hpp"
#include "backends/engine/loop.hpp"

namespace fiber::backends::local {

/// Waits for our own child, which must be ending, kills the rest of its process group,
/// and then reaps it: until then the kernel cannot reuse the group's number.
Exit reap(int pid);

/// Returns a pidfd, or an empty descriptor before Linux 5.3.
UniqueFd open_pidfd(int pid);

/// Calls `f` on the loop's thread when the process has ended, reaped or not. Polls every
/// 20 ms if `pidfd` is -1.
void on_exit(Loop& loop, int pid, int pidfd, std::function<void()> f);

/// Sends a signal, by `pidfd` if there is one, which can't hit another process.
void send_signal(int pid, int pidfd, int signal);

} // namespace fiber::backends::local
