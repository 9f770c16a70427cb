// SPDX-License-Identifier: Apache-2.0
#include "libfiber/session/work_thread.hpp"

#include <utility>

#include "base/forked_child.hpp"

namespace fiber::detail {

bool WorkThread::add(std::function<void()> f, Clock::time_point due) {
  std::lock_guard lock(mutex_);
  if (ended_)
    return false;
  due_.emplace(due, std::move(f));
  if (!thread_.joinable())
    thread_ = std::thread([this] { run(); });
  changed_.notify_one();
  return true;
}

void WorkThread::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    if (due_.empty()) {
      if (ended_)
        return;
      changed_.wait(lock);
      continue;
    }
    auto next = due_.begin();
    if (!ended_ && next->first > Clock::now()) {
      changed_.wait_until(lock, Clock::time_point(next->first));
      continue;
    }
    auto f = std::move(due_.extract(next).mapped());
    lock.unlock();
    f();
    end_if_forked_child("a callback");
    f = nullptr; // Unlocked, because destroying captures may call add().
    lock.lock();
  }
}

void WorkThread::end() {
  {
    std::lock_guard lock(mutex_);
    ended_ = true;
    changed_.notify_one();
  }
  if (thread_.joinable())
    thread_.join();
}

} // namespace fiber::detail
