// SPDX-License-Identifier: Apache-2.0
// slurm/ runs jobs as tasks of Slurm's job arrays, by the commands that every site has.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <string>

#include "backends/backend.hpp"
#include "backends/output/status_lines.hpp"

namespace fiber::backends {

namespace slurm {

/// Descriptors of the driver that a job takes: its link.
inline constexpr std::size_t descriptors_per_job = 1;

} // namespace slurm

/// Options of the slurm backend. Those of jobs are passed on to sbatch; empty: not set.
struct SlurmOptions {
  std::string partition, account, qos, constraint;
  std::string time;      ///< Limit of each job: "30", "2:00:00", "1-12".
  std::string gres;      ///< "gpu:1,nvme:1"; JobResources::gpu is added to it.
  std::string arguments; ///< Further options of sbatch, "--exclusive --nice=10".
  std::string directory; ///< On a file system of all nodes; empty: ~/.cache/fiber.
  std::map<std::string, std::string> environment; ///< For jobs, besides the driver's.
  bool hide_gpus = true;      ///< A job that asks for no GPU sees none.
  bool forward_output = true; ///< Copy jobs' output to our stderr, with names.
  std::shared_ptr<StatusLines> terminal = {}; ///< Destination; null: a new one.
  std::chrono::milliseconds lease{60000};
  std::string session = {}; ///< Marks what it makes; empty: a random one.
};

/// Makes a backend whose jobs are tasks of Slurm's job arrays. They run this program, at
/// the same path and in the same directory.
///
/// Blocks until Slurm's controller has answered, and removes what dead drivers have left
/// behind. Throws EngineError: no Slurm commands, no controller, no directory.
std::unique_ptr<Backend> make_slurm(const SlurmOptions& options);

} // namespace fiber::backends
