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

/// Decides which thread does a reactor's work. This thread, the leader, is the reactor's
/// own thread or a waiter: a thread that waits for a link anyway. One thread leads at a
/// time (Leader/Followers; Schmidt et al., POSA 2, chapter 5), so that a message wakes
/// only the thread that waits for it.
///
/// A waiter whose wait is over hands the lead to the next waiter, if there is one. Else
/// no thread leads for now, because this waiter may soon wait again. The own thread takes
/// the lead after 2 ms without a leader, or when work is posted. It yields the lead only
/// to a waiter that returns within 2 ms: for other waiters the two hand-offs cost more
/// than a wake-up by the own thread. A leading waiter that expects a short wait spins
/// before it parks.
class Leadership {
public:
  explicit Leadership(std::shared_ptr<boost::asio::io_context> context);

  /// The own thread runs this: it leads or stands by until end().
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
  /// The leader calls this when it has read bytes; `more` if not only a heartbeat.
  void heard(bool more) {
    if (more)
      short_waits_.renew();
  }
  /// Makes the own thread take the lead at once if no thread leads. Threads that need the
  /// reactor's work, but do not wait as a Waiter, call this.
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
  /// Runs one handler, and waits for one if none is ready. Returns false if `limit`
  /// passed.
  bool work_once(Clock::time_point limit);
  /// Spins. Returns false if it found no work.
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

  /// Returns true once wake() has been called, even if that was before wait(). Returns
  /// false if `limit` passed first.
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
  /// When its last wait that blocked ended. Only its thread uses this.
  Clock::time_point left_at_ = Clock::now();
};

} // namespace fiber::wire
