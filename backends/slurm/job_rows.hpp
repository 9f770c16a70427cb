// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "backends/engine/job_exit.hpp"

namespace fiber::backends::slurm {

/// What Slurm says of one task of a job array: a line of squeue.
struct JobRow {
  std::string array = {}; ///< The array's job id: "1234".
  int index = -1;         ///< Of the task in its array.
  std::string name = {};  ///< The array's name.
  std::string state = {}; ///< "PENDING", "RUNNING", ...
  std::string reason =
    {}; ///< Why it waits or has failed: "Resources"; empty if there is none.
  int wait_status = 0;   ///< As from wait(2).
  std::string node = {}; ///< Empty before it has one.

  /// Returns whether the job waits and no process of it exists.
  bool waits() const;
  /// Returns whether a job that waits only waits for its turn, its time or its nodes: for
  /// what comes without that somebody mends it.
  bool is_in_queue() const;
  /// Returns whether the job is over. States that are not known count as running.
  bool over() const;
};

/// The options of squeue for a listing that parse_rows() reads.
std::vector<std::string> row_options();

/// Reads the output of squeue with row_options(). Lines of jobs that are not arrays, or
/// that can't be read, are left out.
std::vector<JobRow> parse_rows(const std::string& output);

/// The options of sacct for the report on one job that parse_accounting() reads.
std::vector<std::string> accounting_options();
/// Reads the output of sacct with accounting_options(), for example "FAILED|42:0|n1".
/// Nothing if it does not say how the job ended.
std::optional<JobRow> parse_accounting(const std::string& output);

/// How a job ended.
struct JobEnd {
  Exit exit;
  bool disrupted = false; ///< The cluster ended it: preemption, node failure, scancel.
  bool confirmed = true;  ///< Certainly no process of it is left.
};

/// Decides from the row of a job that is over how it ended. `memory_mb` is its limit, 0
/// if it has none; `by_us`: terminate() was called.
JobEnd end_of(const JobRow& row, std::size_t memory_mb, bool by_us);

/// Returns the job id in the output of `sbatch --parsable`, "1234" or "1234;cluster", or
/// nothing.
std::optional<std::string> parse_submitted(const std::string& output);

} // namespace fiber::backends::slurm
