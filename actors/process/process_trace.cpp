// SPDX-License-Identifier: Apache-2.0
#include "actors/process/process_trace.hpp"

#include <utility>

#include <nlohmann/json.hpp>

namespace fiber::actors {
namespace {

constexpr std::uint32_t processes = 1U << 20; ///< No pool has this number.

} // namespace

ProcessTrace::ProcessTrace(std::shared_ptr<Trace> trace, std::uint64_t number,
                           std::string name)
  : trace_(std::move(trace)), row_(static_cast<std::uint32_t>(number)),
    name_(std::move(name)) {
  trace_->name_pool(processes, "processes"); // Harmless if named before.
  trace_->name_row(processes, row_, name_);
}

void ProcessTrace::up(const backends::JobId& job, int pid) {
  job_ = job;
  pid_ = pid;
  auto now = Trace::Clock::now();
  trace_->add_slice(processes, row_, "start", since_, now, {{"job", job_}});
  since_ = now;
}

void ProcessTrace::ended(std::optional<int> exit_code, const std::string& reason) {
  nlohmann::json details{{"job", job_}, {"pid", pid_}};
  if (exit_code)
    details["exit_code"] = *exit_code;
  if (!reason.empty())
    details["reason"] = reason;
  trace_->add_slice(processes, row_, pid_ > 0 ? name_ : "never up", since_,
                    Trace::Clock::now(), details);
}

} // namespace fiber::actors
