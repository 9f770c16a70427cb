// SPDX-License-Identifier: Apache-2.0
#include "libfiber/results/wait_point.hpp"

#include <chrono>
#include <utility>

#include "actors/manager/object_host.hpp"
#include "base/forked_child.hpp"
#include "libfiber/session/inline_patience.hpp"

namespace fiber::detail {

WaitPoint::WaitPoint(std::function<bool()> run_one,
                     std::shared_ptr<wire::Leadership> leadership)
  : run_one_(std::move(run_one)), leadership_(std::move(leadership)) {}

std::unique_ptr<WaitPoint> WaitPoint::another() const {
  return std::make_unique<WaitPoint>(run_one_, leadership_);
}

bool WaitPoint::wait(const std::function<bool()>& fulfilled, Clock::time_point limit) {
  check_not_forked();
  if (run_one_)
    return wait_inline(fulfilled, limit);
  std::unique_lock lock(mutex_);
  if (fulfilled())
    return true;
  lock.unlock();
  actors::ObjectHost::Pause pause;
  lock.lock();
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
  InlinePatience patience;
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      if (fulfilled())
        return true;
    }
    if (Clock::now() >= limit)
      return false;
    if (run_one_()) {
      patience.renew();
      continue;
    }
    patience.check();
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
