// SPDX-License-Identifier: Apache-2.0
// container/ is the start of a job in a container, and control groups.
#pragma once

#include <string>

#include "backends/job_entry.hpp"
#include "base/unique_fd.hpp"

namespace fiber::backends {

/// Written by a container's first process when the kernel has killed the job for lack of
/// memory, which not every engine reports.
inline constexpr auto out_of_memory_words =
  "fiber: the job was killed for lack of memory";

/// Returns the start message of a job in a container. It is sent on stdin, which is
/// private and never written to a disk.
std::string container_start(const JobSpec& spec);

/// Returns a descriptor of the stdin that a job of Docker or Slurm was started with, even
/// if the program has closed its stdin since. To be called once.
UniqueFd start_input();
/// Turns this process into the job of a container: reads container_start()'s message from
/// `input`, then calls begin_container(). Throws EngineError on any other message.
JobEntry enter_container(UniqueFd input);

/// Redirects stdin to /dev/null and stderr to stdout, which keeps them in order. If this
/// process is the container's first (pid 1), it stays behind to pass on signals and
/// collect orphans, and the call returns in a child.
void begin_container();

} // namespace fiber::backends
