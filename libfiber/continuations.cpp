// SPDX-License-Identifier: Apache-2.0
#include "libfiber/continuations.hpp"

#include <utility>

namespace fiber::detail {

bool Continuations::add(std::function<void()> f) {
  std::lock_guard lock(mutex_);
  if (ended_)
    return false;
  waiting_.push_back(std::move(f));
  if (!thread_.joinable())
    thread_ = std::thread([this] { run(); });
  changed_.notify_one();
  return true;
}

void Continuations::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return ended_ || !waiting_.empty(); });
    if (waiting_.empty())
      return;
    auto f = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    f();
    f = nullptr; // What it holds may end a task, which may add another.
    lock.lock();
  }
}

void Continuations::end() {
  {
    std::lock_guard lock(mutex_);
    ended_ = true;
    changed_.notify_one();
  }
  if (thread_.joinable())
    thread_.join();
}

} // namespace fiber::detail
