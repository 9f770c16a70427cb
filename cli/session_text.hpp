// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace fiber::cli {

// The parts of a session's snapshot (docs/internals/snapshot.md) as lines of text, which
// hold no control characters. What an older session does not tell is shown as 0 or left
// out.

using Lines = std::vector<std::string>;

/// "train-4711  train  local  up 1:15  workers 4/4  ...".
std::string headline(const nlohmann::json& snapshot);
/// Program, arguments, folder, ...: one line each.
Lines about_lines(const nlohmann::json& snapshot);
/// A row for each pool, and below it a progress bar for each of its calls. `columns` is
/// the width to use.
Lines pool_lines(const nlohmann::json& snapshot, std::size_t columns);

enum class JobOrder { name, tasks, restarts, age };
const char* text_of(JobOrder order);
/// The jobs of a snapshot in this order.
std::vector<nlohmann::json> sorted_jobs(const nlohmann::json& snapshot, JobOrder order);
/// Why a job of a snapshot waits, in the engine's words; empty if it does not.
std::string waits_for(const nlohmann::json& job);
/// Returns "3 jobs wait: Priority (for 1:05)", with what the job waits for that has
/// waited longest; "" if none waits.
std::string wait_line(const nlohmann::json& snapshot);
/// The titles, then a row for each job.
Lines job_lines(const std::vector<nlohmann::json>& jobs);

/// The trees of supervisors, a line for each child.
Lines supervisor_lines(const nlohmann::json& snapshot);
Lines queue_lines(const nlohmann::json& snapshot);
Lines ring_lines(const nlohmann::json& snapshot);
Lines manager_lines(const nlohmann::json& snapshot);
/// The last `most` failures, the latest first.
Lines failure_lines(const nlohmann::json& snapshot, std::size_t most);

/// All of the above, with headings.
Lines session_lines(const nlohmann::json& snapshot, std::size_t columns, JobOrder order);

} // namespace fiber::cli
