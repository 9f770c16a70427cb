// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "actors/trace/trace.hpp"
#include "backends/backend.hpp"

namespace fiber::actors {

/// Records a process in the trace: in a row of its own, in the group of all processes,
/// with one slice for its start and one for its run.
class ProcessTrace {
public:
  ProcessTrace(std::shared_ptr<Trace> trace, std::uint64_t number, std::string name);

  void up(const backends::JobId& job, int pid);
  void ended(std::optional<int> exit_code, const std::string& reason);

private:
  std::shared_ptr<Trace> trace_;
  const std::uint32_t row_;
  const std::string name_;
  backends::JobId job_;
  int pid_ = 0; ///< 0: not up.
  TraceSpan::Time since_ = Trace::Clock::now();
};

} // namespace fiber::actors
