// SPDX-License-Identifier: Apache-2.0
#include "wire/leadership.hpp"

#include <sched.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <system_error>
#include <utility>

namespace fiber::wire {
namespace {

/// Time without a leader after which the own thread takes the lead, if nothing is posted.
/// It is longer than a short task, and than a caller's pause between a result and the
/// next call. To take the lead for such a short time would cost more than it saves.
constexpr std::chrono::milliseconds patience{2};

UniqueFd make_timer() {
  UniqueFd timer(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC));
  if (timer.get() < 0)
    throw std::system_error(errno, std::generic_category(), "cannot make a timer");
  return timer;
}

} // namespace

Leadership::Leadership(std::shared_ptr<boost::asio::io_context> context)
  : context_(std::move(context)), timer_(make_timer()) {}

// -- the reactor's own thread --

void Leadership::stand_by() {
  Lock lock(mutex_);
  while (!ending_) {
    const auto idle = Clock::now() - left_at_;
    if (leader_ == Leader::nobody && (summoned_ || idle >= patience)) {
      leader_ = Leader::own_thread;
      yield_asked_ = summoned_ = false;
      lock.unlock();
      while (!yield_asked_.load(std::memory_order_relaxed))
        context_->run_one();
      lock.lock();
      appoint_next();
      continue;
    }
    if (leader_ == Leader::nobody && !armed_)
      arm(patience - idle);
    lock.unlock();
    std::uint64_t expirations;
    [[maybe_unused]] const auto count =
      ::read(timer_.get(), &expirations, sizeof expirations);
    lock.lock();
    armed_ = false;
  }
}

void Leadership::end() {
  Lock lock(mutex_);
  ending_ = yield_asked_ = true;
  interrupt();
  arm(std::chrono::nanoseconds{1});
  changed_.wait(lock, [&] { return leader_ != Leader::waiter; });
}

void Leadership::summon() {
  const Lock lock(mutex_);
  if (leader_ != Leader::nobody || std::exchange(summoned_, true))
    return;
  arm(std::chrono::nanoseconds{1});
}

void Leadership::interrupt() {
  boost::asio::post(*context_, [] {});
}

// -- REQUIRES: mutex_ is held --

void Leadership::appoint_next() {
  leader_ = Leader::nobody;
  if (ending_ || applicants_.empty())
    return;
  leader_ = Leader::waiter;
  summoned_ = false;
  auto& next = *applicants_.front();
  applicants_.pop_front();
  {
    const std::lock_guard lock(next.mutex_);
    next.appointed_ = true;
  }
  next.changed_.notify_one();
}

void Leadership::arm(Clock::duration delay) {
  armed_ = true;
  const auto ns = std::chrono::nanoseconds(delay).count();
  const itimerspec when{{}, {ns / 1'000'000'000, ns % 1'000'000'000}};
  ::timerfd_settime(timer_.get(), 0, &when, nullptr);
}

// -- waiters --

bool Leadership::apply(Waiter& waiter) {
  const Lock lock(mutex_);
  if (ending_)
    return false;
  if (leader_ == Leader::nobody) {
    leader_ = Leader::waiter;
    summoned_ = false;
    return true;
  }
  // A recent waiter makes the own thread yield. It stands before other waiters, so that
  // the lead goes to it.
  const bool recent = Clock::now() - waiter.left_at_ < patience;
  applicants_.insert(recent ? applicants_.begin() : applicants_.end(), &waiter);
  if (recent && leader_ == Leader::own_thread && !yield_asked_.exchange(true))
    interrupt();
  return false;
}

bool Leadership::withdraw(Waiter& waiter) {
  const Lock lock(mutex_);
  std::erase(applicants_, &waiter);
  return !std::exchange(waiter.appointed_, false);
}

void Leadership::lead(Waiter& waiter, Clock::time_point limit) noexcept {
  waiter.set_leading(true);
  short_waits_.renew();
  while (!waiter.woken_ && !ending_ && work_once(limit)) {
  }
  waiter.set_leading(false);
  const Lock lock(mutex_);
  left_at_ = Clock::now();
  appoint_next();
  if (ending_)
    changed_.notify_all();
  else if (leader_ == Leader::nobody && !armed_)
    arm(patience);
}

bool Leadership::work_once(Clock::time_point limit) {
  const auto begin = Clock::now();
  if (begin >= limit)
    return false;
  if (context_->poll_one() > 0)
    return true; // The work was queued before this wait: it says nothing about waits.
  const bool spins = short_waits_.should_spin();
  if (spins && spin(limit))
    return true;
  const auto done =
    limit == Waiter::forever ? context_->run_one() : context_->run_one_until(limit);
  const auto end = Clock::now();
  if (!spins)
    short_waits_.slept(end - begin);
  return done > 0 || end < limit;
}

// The last check comes after the end, so that work that came in time is found.
bool Leadership::spin(Clock::time_point limit) {
  auto now = Clock::now();
  for (const auto end = std::min(limit, now + ShortWaits::limit);;) {
    if (context_->poll_one() > 0) {
      short_waits_.found();
      return true;
    }
    if (now >= end)
      break;
    ::sched_yield(); // The thread that brings work may need this core.
    const auto before = std::exchange(now, Clock::now());
    if (now - before > ShortWaits::limit) {
      const bool found = context_->poll_one() > 0;
      short_waits_.preempted();
      return found;
    }
  }
  short_waits_.found_nothing();
  return false;
}

bool Waiter::wait(Clock::time_point limit) {
  if (!woken_) {
    bool leads = leadership_ && leadership_->apply(*this);
    if (!leads) {
      sleep(limit);
      leads = leadership_ && !leadership_->withdraw(*this);
    }
    if (leads)
      leadership_->lead(*this, limit);
    if (!woken_)
      sleep(limit); // The reactor has ended; wake() still works.
    left_at_ = Clock::now();
  }
  return woken_.exchange(false);
}

void Waiter::wake() {
  const std::lock_guard lock(mutex_);
  woken_ = true;
  if (leading_ == std::thread::id{})
    changed_.notify_one();
  else if (leading_ != std::this_thread::get_id())
    leadership_->interrupt();
}

void Waiter::sleep(Clock::time_point limit) {
  std::unique_lock lock(mutex_);
  const auto ready = [this] { return woken_ || appointed_; };
  if (limit == forever)
    changed_.wait(lock, ready);
  else
    changed_.wait_until(lock, limit, ready);
}

void Waiter::set_leading(bool leads) {
  const std::lock_guard lock(mutex_);
  leading_ = leads ? std::this_thread::get_id() : std::thread::id{};
}

} // namespace fiber::wire
