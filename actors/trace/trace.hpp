// SPDX-License-Identifier: Apache-2.0
#pragma once

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

/// Part of the way of a task, or of several that go together. As it is until the file's
/// thread makes text of it, it has to be small and cheap to copy.
struct TraceSpan {
  using Time = std::chrono::steady_clock::time_point;
  enum class Kind : std::uint8_t {
    queued,   ///< Waited in the driver until they were handed to a worker.
    sent,     ///< From there until the first of them began.
    run,      ///< One task, at work.
    returning ///< From the end of the last of them until the driver had the results.
  };
  enum class Outcome : std::uint8_t {
    value,
    failed,
    overdue,
    cancelled,
    overtaken, ///< Another copy had ended the task.
    lost
  };

  Kind kind = Kind::queued;
  Outcome outcome = Outcome::value; ///< Of a run.
  bool copied = false;              ///< A second copy began while it ran.
  std::uint32_t pool = 0, worker = 0;
  std::uint32_t attempt = 1;
  std::uint64_t call = 0;
  std::uint64_t first = 0; ///< Index of the first task.
  std::uint64_t tasks = 1;
  Time from, to;
  Time queued_at = {}, sent_at = {}, returned_at = {}; ///< Of a run.
};

/// Another driver writes to the file.
class TraceTaken : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// The file that FIBER_TRACE asks for: what happened when, in the JSON of the Trace Event
/// Format, for Perfetto and its kin. A pool is a process of it, a worker a thread.
///
/// A thread of its own writes, several times a second, so that the file of a driver that
/// was killed lacks little but its last bracket. What waits to be written is bounded: who
/// adds faster than the disk takes waits a moment, and if that does not help things are
/// left out and counted. When the file can't be written any more the work goes on.
///
/// Thread-safe.
class Trace {
public:
  using Clock = std::chrono::steady_clock;

  /// Makes the file, or empties it. Throws std::system_error if it can't be written,
  /// TraceTaken.
  explicit Trace(std::string path);
  ~Trace();
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  void add(const TraceSpan& span);
  /// Something at one moment on a worker's row.
  void add_instant(std::uint32_t pool, std::uint32_t worker, const std::string& what,
                   const nlohmann::json& details);
  /// Something seldom that lasted.
  void add_slice(std::uint32_t pool, std::uint32_t worker, const std::string& what,
                 TraceSpan::Time from, TraceSpan::Time to, const nlohmann::json& details);
  void name_pool(std::uint32_t pool, const std::string& name);
  void name_worker(std::uint32_t pool, std::uint32_t worker);
  /// The same for a row that is no worker's.
  void name_row(std::uint32_t pool, std::uint32_t row, const std::string& name);
  /// Writes what there is and the end. What comes later is left out.
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
  std::string lines_; ///< What is seldom: as text.
  std::uint64_t left_out_ = 0;
  bool stalled_ = false; ///< Somebody has waited for room in vain.
  bool closing_ = false;
  bool broken_ = false; ///< The file can't be written any more.
  // Of the thread.
  UniqueFd file_;
  std::string text_;
  std::uint64_t size_ = 0; ///< Of the file, in whole lines.
  std::uint64_t next_id_ = 1;
  std::thread thread_;
};

} // namespace fiber::actors
