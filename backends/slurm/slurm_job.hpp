// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/backend.hpp"
#include "backends/engine/loop.hpp"

namespace fiber::backends::slurm {

struct JobArray;

/// A job, from the request to its last event.
struct SlurmJob {
  std::uint64_t serial = 0;
  JobSpec spec;
  std::shared_ptr<JobArray> array; ///< Null before it is submitted.
  std::size_t index = 0;           ///< Its task in the array.
  bool over = false;
  bool runs = false;         ///< Slurm has said that it no longer waits.
  bool told_started = false; ///< The event was sent.
  std::string reason;        ///< Why it waits, in Slurm's words.
  int missing = 0;           ///< Listings in a row without it.
  bool looked_up = false;    ///< The accounting was asked how it ended.
  std::optional<Loop::Clock::time_point> end_by;     ///< terminate(): then by force.
  std::optional<Loop::Clock::time_point> completing; ///< Since when it is said to end.
  Loop::Clock::time_point signalled{};               ///< The last time.
  int kills = 0;                                     ///< Requests to kill it.
};
using SlurmJobPtr = std::shared_ptr<SlurmJob>;

/// Jobs that were submitted together. Slurm reuses ids after a crash of its controller,
/// so a task is known by its array's id and unique name.
struct JobArray {
  std::string name, folder;
  std::string id;       ///< Empty until Slurm has accepted it.
  bool unclear = false; ///< The request had no answer: maybe accepted, maybe not.
  bool asked = false;   ///< The current listing is of this array, too.
  bool listed = false;  ///< It had its id before the current listing began.
  std::string told_reason;
  Loop::Clock::time_point submitted{};
  std::vector<SlurmJobPtr> jobs; ///< By index.
};
using JobArrayPtr = std::shared_ptr<JobArray>;

/// Returns Slurm's id of a job: "1234_5".
std::string task_id(const SlurmJob& job);
/// Returns Slurm's ids of jobs, one for each array: "1234_[0-3,7]". A command makes a
/// request to the controller for each.
std::vector<std::string> task_ids(const std::vector<SlurmJobPtr>& jobs);

} // namespace fiber::backends::slurm
