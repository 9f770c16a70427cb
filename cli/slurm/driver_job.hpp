// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "backends/slurm/command.hpp"
#include "backends/slurm/job_rows.hpp"
#include "cli/engines/engine.hpp"

namespace fiber::cli::slurm {

/// Where the output of a driver's job goes.
struct OutputFiles {
  std::string out, err;
};

/// The comment of a driver's job: "fiber driver PROGRAM > FILE", with the file that has
/// its output.
struct DriverComment {
  std::string program, output;
  std::string text() const;
  /// Returns nothing if it is another job's.
  static std::optional<DriverComment> parse(const std::string& text);
};

/// Returns the words of the sbatch command for a driver. `program` is an absolute path.
std::vector<std::string> driver_words(const RunRequest& request,
                                      const std::string& program, const std::string& name,
                                      const OutputFiles& files);

/// Submits a driver and returns its job's id. Throws Error with Slurm's words.
std::string submit_driver(const RunRequest& request,
                          const std::vector<std::string>& words);

/// The controller's answer about a job.
struct JobLook {
  bool answered = true;                            ///< The controller did.
  std::string problem;                             ///< Why it did not.
  std::optional<backends::slurm::JobRow> row = {}; ///< Nothing: no such job any more.
};

/// Returns the words of the squeue command for a job, and reads its answer.
std::vector<std::string> look_words(const std::string& id);
JobLook read_look(const std::string& id, const backends::slurm::CommandResult& told);

} // namespace fiber::cli::slurm
