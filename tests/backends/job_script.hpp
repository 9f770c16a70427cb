// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "backends/job_entry.hpp"

namespace fiber::backends {

/// Executes the boot bytes of a test's job, one command per line:
///   exit N | signal N | print TEXT | error TEXT | flood BYTES | wait | ignore-term |
///   stop | child | daemon | env NAME | cores | argv | cwd | host | fds | group | mask |
///   echo | page BYTE | digest | eat MEGABYTES | child-eats MEGABYTES | write PATH | keys
/// `wait` ends with 0 on SIGTERM or when the driver's end of the link is closed; `digest`
/// takes the boot bytes as data. Returns the exit code.
int play(const JobEntry& entry, int argc, char** argv);

/// Returns the digest that `digest` prints.
std::string digest(const Bytes& bytes);

Bytes boot(std::string_view script);

} // namespace fiber::backends
