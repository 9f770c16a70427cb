// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include <sys/types.h>

#include "base/unique_fd.hpp"

// The sockets by which a job talks to other jobs, taken from it while it runs: what is
// done to them is done to the job.

namespace fiber::e2e {

/// Those of its links, with this process's own descriptors for them.
std::vector<UniqueFd> peer_links(pid_t job);
/// Those at which it listens.
std::vector<UniqueFd> peer_doors(pid_t job);
/// Connects to such a door of the job as any process of this user could.
UniqueFd knock(pid_t job, const UniqueFd& door);
/// Lets another user connect 1,000 times to each local door of the jobs, and to each
/// socket of Fiber that /proc/net/unix names. Returns whether there are doors and no
/// connection came about. Needs root.
bool another_user_finds_no_door(const std::vector<pid_t>& jobs);
/// Whether the other end closes it, within the deadline.
bool is_closed(const UniqueFd& socket);

/// Cuts all links of the job, and with them what they had brought that it had not read.
/// Returns how many bytes those were. With `some`, waits until there are any.
std::size_t cut_peer_links(pid_t job, bool some);

} // namespace fiber::e2e
