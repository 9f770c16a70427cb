// SPDX-License-Identifier: Apache-2.0
#include "libfiber/call_results.hpp"

#include <algorithm>
#include <chrono>

#include "actors/task_context.hpp"
#include "fiber/error.hpp"

namespace fiber::detail {
namespace {

/// On an inline session a task that waits for so long without anything to run waits for
/// ever.
constexpr std::chrono::seconds inline_patience{2};

} // namespace

CallResults::CallResults(Keep keep, std::function<bool()> run_one,
                         std::function<void()> cancel,
                         std::shared_ptr<wire::Leadership> leadership)
  : keep_(keep), run_one_(std::move(run_one)), cancel_(std::move(cancel)),
    leadership_(std::move(leadership)) {}

void CallResults::deliver(std::vector<actors::Completion> completions) {
  std::lock_guard lock(mutex_);
  for (auto& completion : completions)
    store(completion.index, std::move(completion.outcome));
  wake();
}

void CallResults::fail_missing(const std::exception_ptr& error) {
  std::lock_guard lock(mutex_);
  auto submitted = submitted_.load();
  if (keep_ == Keep::as_they_come)
    while (done_ < submitted)
      store(0, {{}, error});
  else
    for (auto index = first_; index < submitted; ++index)
      if (!has(index))
        store(index, {{}, error});
  wake();
}

void CallResults::store(std::size_t index, RawOutcome outcome) {
  if (keep_ == Keep::as_they_come) {
    arrived_.emplace_back(index, std::move(outcome));
  } else {
    if (has(index))
      return;
    if (entries_.size() <= index - first_)
      entries_.resize(index - first_ + 1);
    entries_[index - first_] = {true, std::move(outcome)};
  }
  ++done_;
}

void CallResults::wake() {
  for (auto* waiter : waiters_)
    if (waiter->fulfilled())
      waiter->changed.wake();
}

bool CallResults::wait(const std::function<bool()>& fulfilled, Clock::time_point limit) {
  if (run_one_)
    return wait_inline(fulfilled, limit);
  std::unique_lock lock(mutex_);
  if (fulfilled())
    return true;
  Waiter waiter{fulfilled, wire::Waiter(leadership_)};
  waiters_.push_back(&waiter);
  for (auto in_time = true; in_time && !fulfilled();) {
    lock.unlock();
    in_time = waiter.changed.wait(limit);
    lock.lock();
  }
  std::erase(waiters_, &waiter);
  return fulfilled();
}

bool CallResults::wait_inline(const std::function<bool()>& fulfilled,
                              Clock::time_point limit) {
  auto idle_since = Clock::now();
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      if (fulfilled())
        return true;
    }
    if (Clock::now() >= limit)
      return false;
    if (run_one_()) {
      idle_since = Clock::now();
      continue;
    }
    if (actors::TaskContext::current() != nullptr &&
        Clock::now() - idle_since > inline_patience)
      throw Error("inline runs on one thread: this task waits for one that can't run "
                  "before it ends");
    std::unique_lock lock(mutex_);
    Waiter waiter{fulfilled, wire::Waiter()};
    waiters_.push_back(&waiter);
    lock.unlock();
    waiter.changed.wait(Clock::now() + std::chrono::milliseconds(1));
    lock.lock();
    std::erase(waiters_, &waiter);
  }
}

bool CallResults::wait_index(std::size_t index, Clock::time_point limit) {
  return wait([this, index] { return has(index); }, limit);
}

bool CallResults::wait_done(std::size_t n, Clock::time_point limit) {
  if (done_ >= n)
    return true;
  return wait([this, n] { return done_ >= n; }, limit);
}

RawOutcome CallResults::at(std::size_t index) const {
  std::lock_guard lock(mutex_);
  return entries_.at(index - first_).outcome;
}

RawOutcome CallResults::take(std::size_t index) {
  wait_index(index, forever);
  std::lock_guard lock(mutex_);
  auto outcome = std::move(entries_.at(index - first_).outcome);
  if (index == first_) {
    entries_.pop_front();
    ++first_;
  }
  return outcome;
}

std::vector<RawOutcome> CallResults::take_ready() {
  std::vector<RawOutcome> ready;
  std::lock_guard lock(mutex_);
  for (; !entries_.empty() && entries_.front().there; ++first_) {
    ready.push_back(std::move(entries_.front().outcome));
    entries_.pop_front();
  }
  return ready;
}

std::optional<std::pair<std::size_t, RawOutcome>> CallResults::take_any() {
  wait([this] { return !arrived_.empty(); }, forever);
  std::lock_guard lock(mutex_);
  auto first = std::move(arrived_.front());
  arrived_.pop_front();
  return first;
}

} // namespace fiber::detail
