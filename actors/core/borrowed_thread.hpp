// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <utility>

#include <caf/actor.hpp>
#include <caf/actor_system.hpp>
#include <caf/execution_unit.hpp>
#include <caf/make_message.hpp>
#include <caf/message_id.hpp>
#include <caf/resumable.hpp>

namespace fiber::actors {

/// Lets the calling thread run the actors that its message wakes up, instead of waking
/// one of CAF's threads for it: a hop between threads costs 5 to 10 us, which a call and
/// its result would pay four times. An actor still runs on one thread at a time; if it is
/// running elsewhere, that thread takes the message. What an actor can't finish soon goes
/// to CAF's scheduler.
class BorrowedThread final : public caf::execution_unit {
public:
  explicit BorrowedThread(caf::actor_system& system);
  ~BorrowedThread() override;
  BorrowedThread(const BorrowedThread&) = delete;
  BorrowedThread& operator=(const BorrowedThread&) = delete;

  void exec_later(caf::resumable* job) override { jobs_.push_back(job); }
  /// Runs what became ready, until nothing is.
  void run();

  /// The one that runs on this thread now, if it belongs to `system`.
  static BorrowedThread* current(caf::actor_system& system);

private:
  std::deque<caf::resumable*> jobs_;
  BorrowedThread* outer_;
};

/// Sends `message` to `receiver` and lends this thread to it and to whom it writes in
/// turn. On a thread that is lent already the message is only queued: handlers never run
/// nested.
template <class T>
void deliver(caf::actor_system& system, const caf::actor& receiver, T message,
             const caf::strong_actor_ptr& sender = nullptr) {
  auto enqueue = [&](caf::execution_unit* unit) {
    receiver->enqueue(sender, caf::make_message_id(),
                      caf::make_message(std::move(message)), unit);
  };
  if (auto* outer = BorrowedThread::current(system)) {
    enqueue(outer);
    return;
  }
  BorrowedThread here(system);
  enqueue(&here);
  here.run();
}

} // namespace fiber::actors
