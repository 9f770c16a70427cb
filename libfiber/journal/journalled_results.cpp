// SPDX-License-Identifier: Apache-2.0
#include "libfiber/journal/journalled_results.hpp"

#include <utility>

#include "base/log.hpp"
#include "fiber/error.hpp"

namespace fiber::detail {
namespace {

/// Tasks are submitted only while fewer bytes of results than this wait to be written.
constexpr std::size_t max_waiting = 64 * 1024 * 1024;
/// A power loss costs at most the results written in this time.
constexpr std::chrono::seconds sync_interval{1};

bool is_cancelled(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const Cancelled&) {
    return true;
  } catch (...) {
    return false;
  }
}

} // namespace

JournalledResults::JournalledResults(JournalFile file, std::shared_ptr<WorkThread> thread,
                                     Keep keep, std::function<bool()> run_one,
                                     std::function<void()> cancel,
                                     std::shared_ptr<wire::Leadership> leadership)
  : CallResults(keep, std::move(run_one), std::move(cancel), std::move(leadership)),
    thread_(std::move(thread)), file_(std::move(file)), synced_(Clock::now()) {}

// -- called by the submitting thread --

std::optional<Payload> JournalledResults::find(std::size_t index,
                                               const Digest& arguments) {
  {
    std::lock_guard lock(mutex_);
    if (failure_)
      std::rethrow_exception(failure_);
  }
  std::lock_guard lock(file_mutex_);
  return file_ ? file_->find(index, arguments) : std::nullopt;
}

void JournalledResults::restore(std::vector<actors::Completion> completions) {
  {
    std::lock_guard lock(mutex_);
    ended_ += completions.size();
  }
  add_submitted(completions.size());
  CallResults::deliver(std::move(completions));
}

void JournalledResults::expect(std::size_t first, const std::vector<Digest>& arguments) {
  std::lock_guard lock(mutex_);
  for (auto& digest : arguments)
    arguments_.emplace(first++, digest);
}

void JournalledResults::wait_room() {
  std::unique_lock lock(mutex_);
  room_.wait(lock, [this] { return waiting_bytes_ <= max_waiting; });
}

void JournalledResults::fed() {
  std::unique_lock lock(mutex_);
  fed_ = true;
  if (ended_ < submitted())
    return;
  lock.unlock();
  close();
}

// -- called by the pool --

void JournalledResults::deliver(std::vector<actors::Completion> completions) {
  std::size_t bytes = 0;
  for (auto& completion : completions)
    bytes += completion.outcome.value.size();
  push(std::move(completions), bytes);
}

void JournalledResults::fail_missing(const std::exception_ptr& error) {
  push(error, 0); // Queued behind earlier results.
}

void JournalledResults::push(Arrival arrival, std::size_t bytes) {
  {
    std::lock_guard lock(mutex_);
    arrived_.push_back(std::move(arrival));
    waiting_bytes_ += bytes;
    if (arrived_.size() > 1)
      return; // The step that is due takes this one too.
  }
  if (!thread_->add([self = shared_from_this()] { self->step(); }))
    step();
}

void JournalledResults::cancel() {
  close();
  CallResults::cancel();
}

// -- run on the journals' thread --

void JournalledResults::step() {
  std::lock_guard turn(turn_);
  std::vector<Arrival> arrived;
  {
    std::lock_guard lock(mutex_);
    arrived.swap(arrived_);
    waiting_bytes_ = 0;
    room_.notify_all();
  }
  for (auto& arrival : arrived) {
    if (auto* error = std::get_if<std::exception_ptr>(&arrival)) {
      close();
      CallResults::fail_missing(*error);
      continue;
    }
    auto& completions = std::get<std::vector<actors::Completion>>(arrival);
    write(completions);
    CallResults::deliver(std::move(completions));
  }
  sync_soon();
  auto failed = false;
  {
    std::lock_guard lock(mutex_);
    failed = std::exchange(failed_now_, false);
  }
  if (failed)
    CallResults::cancel();
}

void JournalledResults::write(std::vector<actors::Completion>& completions) {
  std::vector<JournalFile::Addition> additions;
  additions.reserve(completions.size());
  {
    std::lock_guard lock(mutex_);
    for (auto& [index, outcome] : completions) {
      auto known = arguments_.extract(index);
      if (!outcome.error && known)
        additions.push_back({index, known.mapped(), outcome.value});
      else if (outcome.error && failure_ && is_cancelled(outcome.error))
        outcome.error = failure_; // Which caused the cancellation.
    }
  }
  append(additions);
  auto over = false;
  {
    std::lock_guard lock(mutex_);
    ended_ += completions.size();
    over = fed_ && ended_ >= submitted();
  }
  if (over)
    close();
}

void JournalledResults::append(const std::vector<JournalFile::Addition>& additions) {
  std::lock_guard lock(file_mutex_);
  if (!file_ || additions.empty())
    return;
  try {
    dirty_ = true;
    file_->append(additions);
  } catch (...) {
    fail(std::current_exception());
  }
}

void JournalledResults::sync() {
  std::lock_guard lock(file_mutex_);
  if (!file_ || !dirty_)
    return;
  try {
    file_->sync();
  } catch (...) {
    fail(std::current_exception());
  }
  dirty_ = false;
  synced_ = Clock::now();
}

/// Schedules a sync one second after the last one, or syncs now if the thread has ended.
void JournalledResults::sync_soon() {
  auto due = Clock::time_point::max();
  {
    std::lock_guard lock(file_mutex_);
    if (file_ && dirty_)
      due = synced_ + sync_interval;
  }
  if (due == Clock::time_point::max())
    return;
  if (due <= Clock::now())
    return sync();
  {
    std::lock_guard lock(mutex_);
    if (std::exchange(sync_due_, true))
      return;
  }
  auto later = [self = shared_from_this()] {
    {
      std::lock_guard lock(self->mutex_);
      self->sync_due_ = false;
    }
    self->step();
  };
  if (thread_->add(std::move(later), due))
    return;
  {
    std::lock_guard lock(mutex_);
    sync_due_ = false;
  }
  sync();
}

void JournalledResults::close() {
  sync();
  std::lock_guard lock(file_mutex_);
  file_.reset();
}

/// Gives the file up after an error. REQUIRES: file_mutex_ is held.
void JournalledResults::fail(std::exception_ptr why) {
  file_.reset();
  try {
    std::rethrow_exception(why);
  } catch (const std::exception& error) {
    log().error("{}", error.what());
  }
  std::lock_guard lock(mutex_);
  failure_ = std::move(why);
  failed_now_ = true;
}

} // namespace fiber::detail
