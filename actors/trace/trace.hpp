// SPDX-License-Identifier: Apache-2.0
#pragma once

// trace/ writes the trace file that FIBER_TRACE asks for and estimates the clocks of
// jobs.

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/unique_fd.hpp"

namespace fiber::actors {

/// A phase in the life of one task, or of several that are sent together. The writing
/// thread makes text of it; until then it must be small and cheap to copy.
struct TraceSpan {
  using Time = std::chrono::steady_clock::time_point;
  enum class Kind : std::uint8_t {
    queued,   ///< Their wait in the driver until it sent them to a worker.
    sent,     ///< From there until the first of them began.
    run,      ///< The run of one task.
    returning ///< From the end of the last of them until the driver had the results.
  };
  enum class Outcome : std::uint8_t {
    value,
    failed,
    overdue,
    cancelled,
    overtaken, ///< Another copy ended the task first.
    lost
  };

  Kind kind = Kind::queued;
  Outcome outcome = Outcome::value; ///< Only for a run.
  bool copied = false;              ///< A second copy began while it ran.
  std::uint32_t pool = 0, worker = 0;
  std::uint32_t attempt = 1;
  std::uint64_t call = 0;
  std::uint64_t first = 0; ///< Index of the first task.
  std::uint64_t tasks = 1;
  Time from, to;
  Time queued_at = {}, sent_at = {}, returned_at = {}; ///< Only for a run.
};

/// Thrown if another driver writes to the file.
class TraceTaken : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// The trace file, in the JSON of the Trace Event Format, which Perfetto and others read.
/// A pool is shown as a process, a worker as a thread.
///
/// A thread of its own writes several times a second, so that the file of a killed driver
/// lacks little but its closing bracket. What waits to be written is bounded: a caller
/// that adds faster than the disk writes waits a moment, and after that events are left
/// out and counted. When the file can't be written any more, the trace ends and the work
/// goes on.
///
/// Thread safety: any thread may call any member function.
class Trace {
public:
  using Clock = std::chrono::steady_clock;

  /// Creates or empties the file. Throws std::system_error if it can't be written, and
  /// TraceTaken.
  explicit Trace(std::string path);
  ~Trace();
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  void add(const TraceSpan& span);
  /// Adds an event at the current time to a worker's row.
  void add_instant(std::uint32_t pool, std::uint32_t worker, const std::string& what,
                   const nlohmann::json& details);
  /// Adds an event with a duration. Costs more than add(): meant for rare events.
  void add_slice(std::uint32_t pool, std::uint32_t worker, const std::string& what,
                 TraceSpan::Time from, TraceSpan::Time to, const nlohmann::json& details);
  void name_pool(std::uint32_t pool, const std::string& name);
  void name_worker(std::uint32_t pool, std::uint32_t worker);
  /// Names a row that is not a worker's.
  void name_row(std::uint32_t pool, std::uint32_t row, const std::string& name);
  /// Writes all that waits and ends the file. Later events are dropped.
  void close();

private:
  bool has_room(std::unique_lock<std::mutex>& lock);
  void add_line(const std::string& line);
  void run();
  void write_out(const std::vector<TraceSpan>& spans, std::string lines);
  void write(std::string_view text);
  void end_file();

  const std::string path_;
  const TraceSpan::Time start_ = Clock::now();
  std::mutex mutex_;
  std::condition_variable changed_; ///< There is enough to write.
  std::condition_variable room_;
  std::vector<TraceSpan> spans_;
  std::string lines_; ///< Rare events, as text.
  std::uint64_t left_out_ = 0;
  bool stalled_ = false; ///< A caller has waited for room in vain.
  bool closing_ = false;
  bool broken_ = false; ///< The file can't be written any more.
  // For the writing thread only.
  UniqueFd file_;
  std::string text_;
  std::uint64_t size_ = 0; ///< Bytes of whole lines in the file.
  std::uint64_t next_id_ = 1;
  std::thread thread_;
};

} // namespace fiber::actors
