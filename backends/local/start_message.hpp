// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backends/job_entry.hpp"

namespace fiber::backends::local {

/// Writes the start parameters of a job into anonymous memory, passed on as a descriptor:
/// the spec, the soft limit of descriptors, the cores to pin it to. They may have any
/// size, appear on no command line and in no environment, and are not read by the zygote.
/// Throws EngineError.
UniqueFd write_start(const JobSpec& spec, std::uint64_t descriptors,
                     const std::vector<int>& cores);

/// The start parameters of a job.
struct Start {
  std::map<std::string, std::string> environment;
  std::size_t page_bytes = 0;
  std::uint64_t descriptors = 0;
  std::uint64_t memory_mb = 0; ///< 0: no limit.
  std::vector<int> cores;
  std::string driver; ///< As in JobSpec.
  Bytes boot, keys;
};

/// Reads what write_start() wrote. Throws EngineError on anything else.
Start read_start(UniqueFd fd);

} // namespace fiber::backends::local
