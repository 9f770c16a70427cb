// SPDX-License-Identifier: Apache-2.0
// results/ holds the outcomes of a call and the threads that wait for them. It may
// include actors/, wire/ and, of libfiber/, monitor and session.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "actors/protocol/call.hpp"
#include "fiber/detail/call_feed.hpp"
#include "fiber/detail/results.hpp"
#include "libfiber/monitor/progress.hpp"
#include "libfiber/results/wait_point.hpp"
#include "wire/leadership.hpp"

namespace fiber::detail {

/// The results of one call. The pool's actor stores outcomes here, and the program's
/// threads wait for them.
class CallResults : public Results, public actors::ResultSink {
public:
  /// `cancel` asks the pool to cancel the call; the others are passed to WaitPoint.
  CallResults(Keep keep, std::function<bool()> run_one, std::function<void()> cancel,
              std::shared_ptr<wire::Leadership> leadership = nullptr);
  ~CallResults() override;

  /// Reports progress to `line`. Must be called before the first task.
  void show(std::shared_ptr<Progress::Line> line) { line_ = std::move(line); }
  /// Announces how many tasks there will be.
  void expect(std::size_t tasks) {
    if (line_)
      line_->expect(tasks);
  }
  /// Announces that no more tasks will come.
  void all_submitted();

  void deliver(std::vector<actors::Completion> completions) override;
  void add_submitted(std::size_t n);
  /// Fails every unfinished task, because the pool has ended.
  virtual void fail_missing(const std::exception_ptr& error);

  std::size_t submitted() const override { return submitted_; }
  std::size_t done() const override { return done_; }
  bool wait_index(std::size_t index, Clock::time_point limit) override;
  bool wait_done(std::size_t n, Clock::time_point limit) override;
  RawOutcome at(std::size_t index) const override;
  RawOutcome take(std::size_t index) override;
  std::vector<RawOutcome> take_ready() override;
  std::optional<std::pair<std::size_t, RawOutcome>> take_any() override;
  void cancel() override { cancel_(); }
  void on_end(std::function<void()> f) override;
  std::unique_ptr<WaitPoint> wait_point() const override { return point_.another(); }

private:
  struct Entry {
    std::size_t index = 0;
    bool arrived = false;
    RawOutcome outcome = {};
  };
  void store(std::size_t index, RawOutcome outcome);
  void notify_end(std::unique_lock<std::mutex>& lock);
  void update_progress(); ///< REQUIRES: the lock is held.
  bool has(std::size_t index) const {
    return index < first_ ||
           (index - first_ < entries_.size() && entries_[index - first_].arrived);
  }

  const Keep keep_;
  const std::function<void()> cancel_;
  std::atomic<std::size_t> submitted_{0};
  std::atomic<std::size_t> done_{0};
  WaitPoint point_;
  /// For as_they_come those that have arrived, otherwise all from index first_ on.
  std::deque<Entry> entries_;
  std::size_t first_ = 0; ///< Results with lower indices were taken.
  std::vector<std::function<void()>> on_end_;
  std::shared_ptr<Progress::Line> line_; ///< Null without a progress display.
  bool all_submitted_ = false;
};

} // namespace fiber::detail
