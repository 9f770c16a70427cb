// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "backends/backend.hpp"
#include "backends/engine/descriptor_limit.hpp"

namespace fiber::backends {

/// The jobs of a backend, by id, which is their spec's name, and by serial number. Serial
/// numbers are never reused.
///
/// Thread safety: any thread may call any member function.
class JobTable {
public:
  using Serial = std::uint64_t;

  /// A running job takes `descriptors` of this process.
  explicit JobTable(std::size_t descriptors) : limit_(descriptors) {}

  /// Adds a job, for which this process then has descriptors. Throws EngineError if its
  /// name exists and has not been forgotten, or if there are too few descriptors.
  Serial admit(const JobId& id);
  /// Removes a job that was never created; its name may be used again.
  void discard(const JobId& id);
  /// Returns the serial of a job that is not forgotten, or 0.
  Serial find(const JobId& id) const;
  /// Marks a job as ended.
  void close(Serial serial);
  /// Forgets an ended job. Returns its serial, or 0 if there is none.
  Serial forget(const JobId& id);
  /// Returns the jobs that have not ended.
  std::vector<JobId> list() const;
  /// Returns the soft limit of open files before it was raised for jobs; 0: unknown.
  std::uint64_t usual_file_limit() const { return limit_.usual(); }
  /// Waits until all jobs have ended or `limit` has passed. Returns how many have not.
  std::size_t wait_for_none(std::chrono::milliseconds limit);

private:
  mutable std::mutex mutex_;
  DescriptorLimit limit_;
  std::condition_variable changed_;
  std::map<JobId, Serial> serials_;
  std::map<Serial, JobId> alive_;
  Serial last_ = 0;
};

} // namespace fiber::backends
