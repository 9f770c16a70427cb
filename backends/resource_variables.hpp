// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "backends/backend.hpp"

namespace fiber::backends {

/// The number of cores of a job, in its environment. fiber::cpu_count() returns no more.
inline constexpr auto cpus_variable = "FIBER_CPUS";

/// Returns the cores of a job: `cpu`, rounded up.
std::size_t cores_of(const JobResources& resources);

/// The variables by which libraries in a job learn what the job may use of its machine.
/// Without them OpenMP, BLAS and LibTorch start a thread for each core in each job, and
/// libraries for GPUs take memory of devices that no job was given.
class ResourceVariables {
public:
  /// Copies the environment of this process now. `hide_gpus`: a job that asks for no GPU
  /// sees none.
  explicit ResourceVariables(bool hide_gpus);

  /// Returns the variables for a job. The numbers of threads are those that this
  /// process's environment sets, else the cores of the job. A backend lets go first what
  /// the user has set for its jobs.
  std::map<std::string, std::string> of(const JobResources& resources) const;
  /// Returns only those that give numbers of threads, which libraries read when they are
  /// loaded.
  std::map<std::string, std::string> threads_of(const JobResources& resources) const;

private:
  std::map<std::string, std::string> threads_; ///< Set by the user, by variable.
  bool hide_gpus_;
};

} // namespace fiber::backends
