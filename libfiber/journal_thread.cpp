// SPDX-License-Identifier: Apache-2.0
#include "libfiber/journal_thread.hpp"

#include <algorithm>
#include <utility>

namespace fiber::detail {

bool JournalThread::wake(const std::shared_ptr<JournalWork>& work) {
  std::lock_guard lock(mutex_);
  if (ended_)
    return false;
  due_[work] = Clock::time_point::min();
  if (!thread_.joinable())
    thread_ = std::thread([this] { run(); });
  changed_.notify_one();
  return true;
}

void JournalThread::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    if (due_.empty()) {
      if (ended_)
        return;
      changed_.wait(lock);
      continue;
    }
    auto next = std::min_element(due_.begin(), due_.end(),
                                 [](auto& a, auto& b) { return a.second < b.second; });
    if (!ended_ && next->second > Clock::now()) {
      changed_.wait_until(lock, next->second);
      continue;
    }
    auto work = due_.extract(next).key();
    auto last = ended_;
    lock.unlock();
    auto again = work->step(last);
    lock.lock();
    // Woken meanwhile, it is due already.
    if (again)
      due_.emplace(work, *again);
    lock.unlock();
    work.reset(); // Which may be the last that holds it.
    lock.lock();
  }
}

void JournalThread::end() {
  {
    std::lock_guard lock(mutex_);
    ended_ = true;
    changed_.notify_one();
  }
  if (thread_.joinable())
    thread_.join();
}

} // namespace fiber::detail
