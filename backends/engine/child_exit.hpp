// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "backends/engine/job_exit.hpp"
#include "backends/engine/loop.hpp"

namespace fiber::backends::local {

/// Waits for our own child, which is known to be ending, and reaps it after killing what
/// is left of its process group: until it is reaped, nobody else can get that group's
/// number.
Exit reap(int pid);

/// A descriptor of a process; empty where the kernel has none (before 5.3).
UniqueFd open_pidfd(int pid);

/// Calls `f` on the loop's thread when the process has ended, reaped or not. Without a
/// `pidfd`
/// (-1) it looks every 20 ms.
void on_exit(Loop& loop, int pid, int pidfd, std::function<void()> f);

/// Sends a signal, by `pidfd` if there is one: then it can't hit another process.
void send_signal(int pid, int pidfd, int signal);

} // namespace fiber::backends::local
