// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>
#include <vector>

#include <caf/actor.hpp>
#include <caf/actor_system.hpp>
#include <caf/execution_unit.hpp>
#include <caf/make_message.hpp>
#include <caf/message_id.hpp>
#include <caf/resumable.hpp>

namespace fiber::actors {

/// Lets the calling thread run the actors that its message makes ready, instead of waking
/// a thread of CAF: a hop between threads costs 5 to 10 us, and a call and its result
/// would take four. An actor still runs on one thread at a time: if it already runs
/// elsewhere, that thread handles the message. An actor that is not done after 256
/// messages goes to CAF's scheduler.
class BorrowedThread final : public caf::execution_unit {
public:
  explicit BorrowedThread(caf::actor_system& system);
  ~BorrowedThread() override;
  BorrowedThread(const BorrowedThread&) = delete;
  BorrowedThread& operator=(const BorrowedThread&) = delete;

  void exec_later(caf::resumable* job) override { jobs_.push_back(job); }
  /// Runs actors until none is ready.
  void run();

  /// Returns the borrowed thread that this code runs on; null if there is none or it
  /// belongs to another system.
  static BorrowedThread* current(caf::actor_system& system);

private:
  std::vector<caf::resumable*> jobs_; ///< In the order in which they became ready.
  BorrowedThread* outer_;
};

/// Sends `message` to `receiver` and runs it, and the actors that it sends to, on this
/// thread. If this thread already runs actors, only queues the message: handlers never
/// nest.
template <class T>
void send_on_this_thread(caf::actor_system& system, const caf::actor& receiver, T message,
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
