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

namespace fiber::backends {

/// The jobs of a backend by the names they were asked for with, which are their ids, and
/// by serial numbers, which are never used twice.
///
/// Thread safety: any thread may call any member function.
class JobTable {
public:
  using Serial = std::uint64_t;

  /// Throws EngineError if there is a job of that name, or was and is not forgotten.
  Serial admit(const JobId& id);
  /// The job never was; its name may be asked for again.
  void discard(const JobId& id);
  /// Until forget(); 0 if there is none.
  Serial find(const JobId& id) const;
  /// The job has ended. Wakes who waits in wait_for_none().
  void close(Serial serial);
  /// Of a job that has ended: its serial, 0 if there is none.
  Serial forget(const JobId& id);
  /// Those that have not ended.
  std::vector<JobId> list() const;
  std::size_t alive() const;
  /// Waits until all have ended; returns how many have not.
  std::size_t wait_for_none(std::chrono::milliseconds limit);

private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<JobId, Serial> serials_;
  std::map<Serial, JobId> alive_;
  Serial last_ = 0;
};

} // namespace fiber::backends
