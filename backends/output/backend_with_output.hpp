// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "backends/backend.hpp"
#include "backends/engine/job_table.hpp"
#include "backends/output/output.hpp"

namespace fiber::backends {

/// What the backends of engines have in common: a table of their jobs by name, the output
/// of these jobs, and a watcher.
class BackendWithOutput : public Backend {
public:
  void watch(Watcher watcher) override { watcher_ = std::move(watcher); }
  std::string logs(const JobId& job) override { return output_.last(table_.find(job)); }
  void forget(const JobId& job) override {
    if (auto serial = table_.forget(job))
      output_.forget(serial);
  }
  std::vector<JobId> list() override { return table_.list(); }

protected:
  /// `descriptors_per_job` as for JobTable, the rest as for Output.
  BackendWithOutput(std::size_t descriptors_per_job, bool forward_output,
                    std::shared_ptr<StatusLines> terminal, Output::Tap tap = nullptr)
    : table_(descriptors_per_job),
      output_(forward_output, std::move(terminal), std::move(tap)) {}

  /// Calls the watcher.
  void report(const JobEvent& event) const {
    if (watcher_)
      watcher_(event);
  }

  JobTable table_;
  Output output_;

private:
  Watcher watcher_;
};

} // namespace fiber::backends
