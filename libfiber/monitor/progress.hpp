// SPDX-License-Identifier: Apache-2.0
// monitor/ shows what pools do: progress lines on stderr, metrics for Prometheus. It may
// include actors/protocol/, actors/roster/, backends/output/ and base/, and nothing of
// libfiber/.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "actors/protocol/messages.hpp"
#include "actors/roster/roster.hpp"
#include "backends/output/status_lines.hpp"
#include "fiber/pool_stats.hpp"

namespace fiber::detail {

class StatsSource;

/// The content of a progress line.
struct ProgressView {
  std::string name;
  std::size_t done = 0, total = 0, failed = 0;
  bool total_known = true; ///< If false, more than `total` tasks may come.
  double per_second = 0;
  std::chrono::duration<double> elapsed{0};
  std::optional<PoolStats> pool = {}; ///< Counts of the whole pool.
  actors::WaitingJobs waiting = {};   ///< Jobs of the pool that have not started.
};

/// "pool0/1 [#####     ] 512/1000 51 %  1.20k/s  ETA 0:12  4 workers  2 retries  1
/// failed  3 wait 1:05 for Priority"; without the bar if it does not fit into `columns`.
std::string live_text(const ProgressView& view, std::size_t columns);
/// "pool0/1: 1000 tasks in 3.20 s, 312/s, 1 failed"
std::string final_text(const ProgressView& view);

/// The clock and intervals of Progress, which tests replace.
struct ProgressPace {
  std::function<std::chrono::steady_clock::time_point()> now =
    std::chrono::steady_clock::now;
  /// Interval between updates, on a terminal and elsewhere.
  std::chrono::milliseconds live{100}, plain{1000};
};

/// Shows the progress of calls on stderr: on a terminal one line per call, redrawn in
/// place; elsewhere a plain line at intervals. Thread-safe.
class Progress : public std::enable_shared_from_this<Progress> {
public:
  explicit Progress(std::shared_ptr<backends::StatusLines> terminal,
                    ProgressPace pace = {});
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Stops showing anything.
  void close();

  class Line;
  std::shared_ptr<Line> add(std::string name, std::weak_ptr<StatsSource> pool);

private:
  using Clock = std::chrono::steady_clock;
  void run();
  void update(Line& line, Clock::time_point now);
  void draw();
  void end(Line& line);

  const std::shared_ptr<backends::StatusLines> terminal_;
  const ProgressPace pace_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::shared_ptr<Line>> lines_;
  bool closed_ = false;
  std::thread thread_; ///< Started by the first add().
};

/// The progress of one call.
class Progress::Line {
public:
  void expect(std::size_t tasks) { expected_ = tasks; }
  void submitted(std::size_t tasks) { submitted_ += tasks; }
  void ended(bool well) {
    ++done_;
    failed_ += well ? 0 : 1;
  }
  void all_submitted() { all_submitted_ = true; }
  /// Prints the final line: all tasks have ended, or nobody waits for them any more.
  void close() { progress_->end(*this); }

private:
  friend class Progress;
  Line(std::shared_ptr<Progress> progress, std::string name,
       std::weak_ptr<StatsSource> pool)
    : progress_(std::move(progress)), name_(std::move(name)), pool_(std::move(pool)) {}
  void update_rate(Clock::time_point now);
  ProgressView view(Clock::time_point now) const;

  const std::shared_ptr<Progress> progress_;
  const std::string name_;
  const std::weak_ptr<StatsSource> pool_;
  const Clock::time_point begin_ = progress_->pace_.now();
  std::atomic<std::size_t> expected_{0}, submitted_{0}, done_{0}, failed_{0};
  std::atomic<bool> all_submitted_{false};
  std::shared_ptr<actors::StatsReply> asked_; ///< Used by the progress thread only.
  // Guarded by progress_->mutex_:
  std::optional<PoolStats> stats_;
  actors::WaitingJobs waiting_;
  double rate_ = 0; ///< Recent tasks per second.
  std::size_t seen_ = 0;
  Clock::time_point seen_at_ = begin_, printed_at_ = begin_;
  std::string text_;
};

} // namespace fiber::detail
