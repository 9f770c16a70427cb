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

/// Decides which thread, the leader, does a reactor's work: the reactor's own thread, or
/// a thread that waits for a link anyway. One leads at a time (Leader/Followers; Schmidt
/// et al., POSA 2, chapter 5), so that a message wakes only the thread that waits for it.
///
/// The own thread leads when no waiter does. A waiter whose wait is over leaves without
/// waking a successor, since it may be back soon; the own thread takes over a little
/// later, or when there is work. It gives the lead back only to a waiter that was away
/// for less than 2 ms: for a longer one, to hand the lead over and back costs more than a
/// wake-up through the own thread. A leading waiter that expects a short wait spins
/// before it parks.
class Leadership {
public:
  explicit Leadership(std::shared_ptr<boost::asio::io_context> context);

  /// Body of the own thread: leads or stands by until end().
  void stand_by();
  /// Makes waiters only sleep from now on, and returns when none leads. Must not be
  /// called by the leader.
  void end();
  /// Runs `f` soon, on the leader.
  template <class F>
  void post(F f) {
    boost::asio::post(*context_, std::move(f));
    summon();
  }
  /// Called by the leader when bytes were read; `more` than a heartbeat.
  void heard(bool more) {
    if (more)
      short_waits_.renew();
  }
  /// Makes the own thread take over at once if nobody leads. For threads that need the
  /// reactor's work but do not wait as a Waiter.
  void summon();

private:
  friend class Waiter;
  using Clock = std::chrono::steady_clock;
  using Lock = std::unique_lock<std::mutex>;
  enum class Leader { nobody, own_thread, waiter };

  /// Returns true if `waiter` leads from now on. Otherwise it may be appointed later.
  bool apply(Waiter& waiter);
  /// Withdraws an application. Returns false if `waiter` was appointed meanwhile and
  /// leads.
  bool withdraw(Waiter& waiter);
  void lead(Waiter& waiter, Clock::time_point limit) noexcept;
  /// Runs one handler, waiting for it if need be. Returns false if `limit` passed.
  bool work_once(Clock::time_point limit);
  /// Spins; returns false if it found no work.
  bool spin(Clock::time_point limit);
  /// Makes the leader check its conditions.
  void interrupt();

  void appoint_next();
  void arm(Clock::duration delay);

  const std::shared_ptr<boost::asio::io_context> context_;
  const UniqueFd timer_; ///< The own thread sleeps on it.
  std::atomic<bool> ending_ = false;
  std::atomic<bool> yield_asked_ = false; ///< The own thread must stop leading.
  ShortWaits short_waits_;                ///< Predicts the waits of leading waiters.

  std::mutex mutex_;
  std::condition_variable changed_;
  Leader leader_ = Leader::nobody;
  std::deque<Waiter*> applicants_;
  bool armed_ = false;
  bool summoned_ = false;
  Clock::time_point left_at_{}; ///< When a waiter last stopped leading.
};

/// A binary semaphore for one thread that waits for a link: while it waits, it does the
/// reactor's work.
///
/// Thread safety: one thread calls wait(), any thread wake(). Every wake() must have
/// returned before the waiter is destroyed.
class Waiter {
public:
  using Clock = std::chrono::steady_clock;
  static constexpr Clock::time_point forever = Clock::time_point::max();

  /// Without a leadership, wait() only sleeps.
  explicit Waiter(std::shared_ptr<Leadership> leadership = nullptr)
    : leadership_(std::move(leadership)) {}

  /// Returns true once wake() has been called, even before; false if `limit` passed
  /// first.
  bool wait(Clock::time_point limit = forever);
  void wake();

private:
  friend class Leadership;

  void sleep(Clock::time_point limit);
  void set_leading(bool leads);

  const std::shared_ptr<Leadership> leadership_;
  std::atomic<bool> woken_ = false; ///< Set with mutex_ held.
  std::mutex mutex_;
  std::condition_variable changed_;
  bool appointed_ = false;
  std::thread::id leading_{}; ///< The waiting thread, while it leads.
  /// End of its last wait that blocked; used by its thread only.
  Clock::time_point left_at_ = Clock::now();
};

} // namespace fiber::wire
