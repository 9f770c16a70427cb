// SPDX-License-Identifier: Apache-2.0
#include "libfiber/results/call_results.hpp"

#include <utility>

namespace fiber::detail {
CallResults::CallResults(Keep keep, std::function<bool()> run_one,
                         std::function<void()> cancel,
                         std::shared_ptr<wire::Leadership> leadership)
  : keep_(keep), cancel_(std::move(cancel)),
    point_(std::move(run_one), std::move(leadership)) {}

CallResults::~CallResults() {
  if (line_)
    line_->close();
}

void CallResults::add_submitted(std::size_t n) {
  submitted_ += n;
  if (line_)
    line_->submitted(n);
}

void CallResults::all_submitted() {
  if (!line_)
    return;
  line_->all_submitted();
  std::lock_guard lock(point_.mutex());
  all_submitted_ = true;
  update_progress();
}

/// Closes the progress line before a thread that waits for the last result goes on.
void CallResults::update_progress() {
  if (line_ && all_submitted_ && done_ == submitted_)
    line_->close();
}

void CallResults::deliver(std::vector<actors::Completion> completions) {
  std::unique_lock lock(point_.mutex());
  for (auto& completion : completions)
    store(completion.index, std::move(completion.outcome));
  update_progress();
  point_.wake();
  notify_end(lock);
}

void CallResults::fail_missing(const std::exception_ptr& error) {
  std::unique_lock lock(point_.mutex());
  auto submitted = submitted_.load();
  if (keep_ == Keep::as_they_come)
    while (done_ < submitted)
      store(0, {{}, error});
  else
    for (auto index = first_; index < submitted; ++index)
      if (!has(index))
        store(index, {{}, error});
  update_progress();
  point_.wake();
  notify_end(lock);
}

void CallResults::on_end(std::function<void()> f) {
  std::unique_lock lock(point_.mutex());
  on_end_.push_back(std::move(f));
  notify_end(lock);
}

/// Unlocks before it calls the functions, which may use these results.
void CallResults::notify_end(std::unique_lock<std::mutex>& lock) {
  if (on_end_.empty() || done_ < submitted_)
    return;
  auto ended = std::exchange(on_end_, {});
  lock.unlock();
  for (auto& f : ended)
    f();
}

void CallResults::store(std::size_t index, RawOutcome outcome) {
  auto well = !outcome.error;
  if (keep_ == Keep::as_they_come) {
    if (done_ == submitted_) // fail_missing() has already completed every task.
      return;
    entries_.push_back({index, true, std::move(outcome)});
  } else {
    if (has(index))
      return;
    if (entries_.size() <= index - first_)
      entries_.resize(index - first_ + 1);
    entries_[index - first_] = {index, true, std::move(outcome)};
  }
  ++done_;
  if (line_)
    line_->ended(well);
}

bool CallResults::wait_index(std::size_t index, Clock::time_point limit) {
  return point_.wait([this, index] { return has(index); }, limit);
}

bool CallResults::wait_done(std::size_t n, Clock::time_point limit) {
  if (done_ >= n)
    return true;
  return point_.wait([this, n] { return done_ >= n; }, limit);
}

RawOutcome CallResults::at(std::size_t index) const {
  std::lock_guard lock(point_.mutex());
  return entries_.at(index - first_).outcome;
}

RawOutcome CallResults::take(std::size_t index) {
  wait_index(index, forever);
  std::lock_guard lock(point_.mutex());
  auto outcome = std::move(entries_.at(index - first_).outcome);
  if (index == first_) {
    entries_.pop_front();
    ++first_;
  }
  return outcome;
}

std::vector<RawOutcome> CallResults::take_ready() {
  std::vector<RawOutcome> ready;
  std::lock_guard lock(point_.mutex());
  for (; !entries_.empty() && entries_.front().arrived; ++first_) {
    ready.push_back(std::move(entries_.front().outcome));
    entries_.pop_front();
  }
  return ready;
}

std::optional<std::pair<std::size_t, RawOutcome>> CallResults::take_any() {
  point_.wait([this] { return !entries_.empty(); }, forever);
  std::lock_guard lock(point_.mutex());
  auto first = std::move(entries_.front());
  entries_.pop_front();
  return std::pair(first.index, std::move(first.outcome));
}

} // namespace fiber::detail
