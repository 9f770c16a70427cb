// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backends/job_entry.hpp"

namespace fiber::backends::local {

/// Writes what a job is started with, its soft limit of descriptors, and the cores that
/// it is kept to, into anonymous memory, to be handed over as a descriptor: of any size,
/// never on a command line or in an environment, and never read by the zygote. Throws
/// EngineError.
UniqueFd write_start(const JobSpec& spec, std::uint64_t descriptors,
                     const std::vector<int>& cores);

/// What write_start() wrote.
struct Start {
  std::map<std::string, std::string> environment;
  std::size_t page_bytes = 0;
  std::uint64_t descriptors = 0;
  std::uint64_t memory_mb = 0; ///< 0: no limit.
  std::vector<int> cores;
  Bytes boot, keys;
};

/// Throws EngineError on what write_start() did not write.
Start read_start(UniqueFd fd);

} // namespace fiber::backends::local
