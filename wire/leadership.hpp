// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include "base/unique_fd.hpp"
#include "wire/short_waits.hpp"

namespace fiber::wire {

class Waiter;

/// Who does a reactor's work: its own thread, or a thread that waits for what a link
/// brings anyway. One at a time (Leader/Followers; Schmidt et al., POSA 2, chapter 5):
/// then a message wakes the thread that wants it and no other.
///
/// The reactor's own thread leads when no waiter does. A waiter that has what it wants
/// leaves without waking anybody, since it may be back soon; the own thread takes over a
/// little later, or when there is work to do. A waiter that leads and expects a short
/// wait looks for news a while before it sleeps.
class Leadership {
public:
  explicit Leadership(std::shared_ptr<boost::asio::io_context> context);

  /// The own thread's: leads, or stands by, until end().
  void stand_by();
  /// From now on waiters only sleep; returns when none leads. Not from the leader.
  void end();
  /// Runs `f` as part of the reactor's work, soon.
  template <class F>
  void post(F f) {
    boost::asio::post(*context_, std::move(f));
    summon();
  }
  /// The reactor's thread's: something was read, `more` than a heartbeat.
  void heard(bool more) {
    if (more)
      short_waits_.renew();
  }
  /// Somebody waits for what the reactor will do next, but not as a Waiter: if nobody
  /// leads the own thread takes over now.
  void summon();

private:
  friend class Waiter;
  using Clock = std::chrono::steady_clock;
  using Lock = std::unique_lock<std::mutex>;
  enum class Leader { nobody, own_thread, waiter };

  /// True: `waiter` leads from now on. False: it may be appointed later.
  bool apply(Waiter& waiter);
  /// Takes an application back. False: it was appointed meanwhile, and leads.
  bool withdraw(Waiter& waiter);
  void lead(Waiter& waiter, Clock::time_point limit) noexcept;
  /// Works until something was done or `limit` has passed; then it returns false.
  bool work_once(Clock::time_point limit);
  bool look_for_work(Clock::time_point limit); ///< False: nothing to do, so sleep.
  /// Makes the leader look up.
  void interrupt();

  void appoint_next();
  void arm(Clock::duration delay);

  const std::shared_ptr<boost::asio::io_context> context_;
  const UniqueFd timer_; ///< What the own thread sleeps on.
  std::atomic<bool> ending_ = false;
  std::atomic<bool> asked_ = false; ///< The own thread is to leave.
  ShortWaits short_waits_;          ///< Of the waiters that lead.

  std::mutex mutex_;
  std::condition_variable changed_;
  Leader leader_ = Leader::nobody;
  std::deque<Waiter*> applicants_;
  bool armed_ = false;
  bool summoned_ = false;
  Clock::time_point left_at_{}; ///< When a waiter left last.
};

/// One thread's wait for something that a link brings; a binary semaphore that does a
/// reactor's work while it waits.
///
/// Thread safety: wait() belongs to one thread, wake() to any. Every wake() must have
/// returned before a waiter is destroyed.
class Waiter {
public:
  using Clock = std::chrono::steady_clock;
  static constexpr Clock::time_point forever = Clock::time_point::max();

  /// Without a leadership it only sleeps.
  explicit Waiter(std::shared_ptr<Leadership> leadership = nullptr)
    : leadership_(std::move(leadership)) {}

  /// Returns when wake() was called, also before; false if `limit` passed first.
  bool wait(Clock::time_point limit = forever);
  void wake();

private:
  friend class Leadership;

  void sleep(Clock::time_point limit);
  void set_leading(bool leads);

  const std::shared_ptr<Leadership> leadership_;
  std::atomic<bool> woken_ = false; ///< Set under the mutex.
  std::mutex mutex_;
  std::condition_variable changed_;
  bool appointed_ = false;
  std::thread::id leading_{}; ///< The waiting thread while it leads.
};

} // namespace fiber::wire
