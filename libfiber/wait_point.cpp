// SPDX-License-Identifier: Apache-2.0
#include "libfiber/wait_point.hpp"

#include <chrono>
#include <utility>

#include "actors/task_context.hpp"
#include "fiber/error.hpp"

namespace fiber::detail {
namespace {

/// On an inline session a task that waits for so long without anything to run waits for
/// ever.
constexpr std::chrono::seconds inline_patience{2};

} // namespace

WaitPoint::WaitPoint(std::function<bool()> run_one,
                     std::shared_ptr<wire::Leadership> leadership)
  : run_one_(std::move(run_one)), leadership_(std::move(leadership)) {}

std::unique_ptr<WaitPoint> WaitPoint::another() const {
  return std::make_unique<WaitPoint>(run_one_, leadership_);
}

bool WaitPoint::wait(const std::function<bool()>& fulfilled, Clock::time_point limit) {
  if (run_one_)
    return wait_inline(fulfilled, limit);
  std::unique_lock lock(mutex_);
  if (fulfilled())
    return true;
  Waiting waiting{fulfilled, wire::Waiter(leadership_)};
  waiting_.push_back(&waiting);
  for (auto in_time = true; in_time && !fulfilled();) {
    lock.unlock();
    in_time = waiting.changed.wait(limit);
    lock.lock();
  }
  std::erase(waiting_, &waiting);
  return fulfilled();
}

bool WaitPoint::wait_inline(const std::function<bool()>& fulfilled,
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
    Waiting waiting{fulfilled, wire::Waiter()};
    waiting_.push_back(&waiting);
    lock.unlock();
    waiting.changed.wait(Clock::now() + std::chrono::milliseconds(1));
    lock.lock();
    std::erase(waiting_, &waiting);
  }
}

void WaitPoint::wake() {
  for (auto* waiting : waiting_)
    if (waiting->fulfilled())
      waiting->changed.wake();
}

} // namespace fiber::detail
