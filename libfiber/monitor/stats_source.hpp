// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "actors/protocol/messages.hpp"
#include "actors/roster/roster.hpp"
#include "fiber/detail/results.hpp"

namespace fiber::detail {

/// A pool as seen by its observers: progress lines and metrics.
///
/// Thread safety: any thread may call any member function.
class StatsSource {
public:
  virtual ~StatsSource() = default;
  virtual const std::string& name() const = 0;
  /// Requests the counts; the reply is set later. Throws Closed.
  virtual std::shared_ptr<actors::StatsReply> ask_stats() = 0;
  /// Returns which of the pool's jobs wait to be started.
  virtual actors::WaitingJobs waiting_jobs() = 0;
  /// Requests counts and durations without lending the caller's thread to the pool's
  /// actor. Returns null after the session has ended.
  virtual std::shared_ptr<actors::ReportReply> ask_report() = 0;
  /// Waits for a reply of ask_report(). Returns nothing if `limit` passes first or the
  /// pool has ended.
  virtual std::optional<actors::PoolReport> report(const actors::ReportReply& reply,
                                                   Results::Clock::time_point limit) = 0;
};

} // namespace fiber::detail
