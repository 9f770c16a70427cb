// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "backends/job_entry.hpp"

namespace fiber::backends {

/// What the first process of a container writes when the kernel has killed the job for
/// lack of memory, as not every engine says so.
inline constexpr auto out_of_memory_words =
  "fiber: the job was killed for lack of memory";

/// What a job in a container is told on its stdin, where nobody else sees it and from
/// where nothing gets onto a disk.
std::string container_start(const JobSpec& spec);

/// Becomes the job of a container: reads what container_start() made from stdin, then
/// begin_container(). Throws EngineError if stdin says something else.
JobEntry enter_container();

/// Makes stdin /dev/null and sends stderr the way of stdout, so that they stay in order.
/// Where this process is the container's first (pid 1), it stays as what such a process
/// has to be, one that passes on signals and collects orphans, and this call returns in a
/// child.
void begin_container();

} // namespace fiber::backends
