// SPDX-License-Identifier: Apache-2.0
#include "actors/core/borrowed_thread.hpp"

#include <caf/all.hpp>

namespace fiber::actors {
namespace {

thread_local BorrowedThread* innermost = nullptr;
constexpr std::size_t messages_a_turn = 256;

} // namespace

BorrowedThread::BorrowedThread(caf::actor_system& system)
  : caf::execution_unit(&system), outer_(innermost) {
  innermost = this;
}

BorrowedThread::~BorrowedThread() {
  innermost = outer_;
}

BorrowedThread* BorrowedThread::current(caf::actor_system& system) {
  return innermost != nullptr && &innermost->system() == &system ? innermost : nullptr;
}

void BorrowedThread::run() {
  while (!jobs_.empty())
    for (auto* job : std::exchange(jobs_, {}))
      switch (job->resume(this, messages_a_turn)) {
      case caf::resumable::resume_later: // Gives the thread back to its owner.
        system().scheduler().enqueue(job);
        break;
      case caf::resumable::done:
      case caf::resumable::awaiting_message:
        caf::intrusive_ptr_release(job);
        break;
      case caf::resumable::shutdown_execution_unit:
        break;
      }
}

} // namespace fiber::actors
