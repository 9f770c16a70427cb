// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace fiber::backends {

/// Keeps room for the descriptors that jobs take of this process: raises the soft limit
/// to the hard limit when the jobs are about to reach it. Jobs get the original limit, on
/// which their code may rely: select() fails for descriptors from 1024 on.
///
/// Thread safety: none.
class DescriptorLimit {
public:
  /// A running job takes `each_job` descriptors of this process.
  explicit DescriptorLimit(std::size_t each_job);
  /// Restores the original limit, unless the program has changed it meanwhile.
  ~DescriptorLimit();
  DescriptorLimit(const DescriptorLimit&) = delete;
  DescriptorLimit& operator=(const DescriptorLimit&) = delete;

  /// Returns the original limit; 0: unknown.
  std::uint64_t usual() const { return usual_; }
  /// Raises the limit if need be, before one more job is created while there are `jobs`
  /// others. Throws EngineError with EMFILE if the hard limit has no room for it: jobs
  /// that dial back would otherwise wait in vain for this process to accept their
  /// connections.
  void make_room(std::size_t jobs);

private:
  std::uint64_t each_job_;
  std::uint64_t usual_;
  std::uint64_t open_before_; ///< Descriptors that were open before the first job.
  std::uint64_t raised_to_ = 0;
};

/// In a job: restores this soft limit; 0: no change.
void set_soft_limit(std::uint64_t descriptors);

} // namespace fiber::backends
