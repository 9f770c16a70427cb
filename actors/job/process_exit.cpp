// SPDX-License-Identifier: Apache-2.0
#include "actors/job/process_exit.hpp"

#include <cstdio>
#include <cstdlib>

namespace fiber::actors {

int process_exit_code(const NodeBoot& boot, TaskResult::Status status,
                      const Bytes& result) {
  Reader reader(result);
  if (status == TaskResult::Status::value)
    // The operating system keeps 8 bits; an inline process does the same.
    return boot.use == NodeUse::process ? unpack<int>(reader) & 0xff : EXIT_SUCCESS;
  if (boot.use == NodeUse::process) {
    auto failure = read_failure(reader);
    auto text = boot.name + ": uncaught " + failure.type +
                (failure.type.empty() || failure.what.empty() ? "" : ": ") +
                failure.what + "\n";
    std::fflush(stdout); // Keeps the order, as both streams go to the job's log.
    std::fwrite(text.data(), 1, text.size(), stderr);
  }
  return EXIT_FAILURE;
}

} // namespace fiber::actors
