// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "backends/job_entry.hpp"

namespace fiber::backends {

/// What the jobs of these tests do is told by their boot bytes, one command a line:
///   exit N | signal N | print TEXT | error TEXT | flood BYTES | wait | ignore-term |
///   stop | child | daemon | env NAME | cores | argv | cwd | fds | group | mask |
///   echo | page BYTE | digest | eat MEGABYTES | child-eats MEGABYTES | write PATH | keys
/// `wait` ends with 0 on SIGTERM or when the driver's end of the link is closed; `digest`
/// takes the boot bytes as data. Returns the exit code.
int play(const JobEntry& entry, int argc, char** argv);

/// As `digest` prints it.
std::string digest(const Bytes& bytes);

Bytes boot(std::string_view script);

} // namespace fiber::backends
