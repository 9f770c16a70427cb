// SPDX-License-Identifier: Apache-2.0
#include "backends/engine/loop.hpp"

#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <cerrno>
#include <csignal>
#include <iterator>

#include "backends/engine/errors.hpp"

namespace fiber::backends {

Loop::Loop()
  : epoll_(::epoll_create1(EPOLL_CLOEXEC)),
    wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!epoll_ || !wake_)
    throw engine_error("start event loop", errno);
  watch(wake_.get(), EPOLLIN, [this](std::uint32_t) { run_posted(); });
  sigset_t all, before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    thread_ = std::thread([this] { run(); });
  } catch (...) {
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw;
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Loop::~Loop() {
  stop();
}

void Loop::stop() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  post([] {});
  if (thread_.joinable())
    thread_.join();
}

void Loop::post(std::function<void()> f) {
  std::lock_guard lock(mutex_);
  posted_.push_back(std::move(f));
  if (posted_.size() == 1)
    ::eventfd_write(wake_.get(), 1);
}

bool Loop::watch(int fd, std::uint32_t events, Ready f) {
  unwatch(fd);
  epoll_event event{};
  event.events = events;
  event.data.u64 = ++last_token_;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0)
    return false;
  watches_[fd] = {last_token_, std::make_shared<Ready>(std::move(f))};
  tokens_[last_token_] = fd;
  return true;
}

void Loop::unwatch(int fd) {
  auto watch = watches_.find(fd);
  if (watch == watches_.end())
    return;
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
  tokens_.erase(watch->second.token);
  watches_.erase(watch);
}

Loop::Timer Loop::after(std::chrono::milliseconds delay, std::function<void()> f) {
  Timer timer{Clock::now() + delay, ++last_token_};
  timers_.emplace(timer, std::move(f));
  return timer;
}

void Loop::run_posted() {
  std::uint64_t count = 0;
  ::eventfd_read(wake_.get(), &count);
  std::vector<std::function<void()>> posted;
  {
    std::lock_guard lock(mutex_);
    posted.swap(posted_);
  }
  for (auto& f : posted)
    f();
}

/// Runs due timers. Returns the milliseconds to the next one, or -1.
int Loop::run_timers() {
  while (!timers_.empty()) {
    auto left = timers_.begin()->first.first - Clock::now();
    if (left > Clock::duration::zero())
      return static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(left).count());
    auto due = timers_.extract(timers_.begin());
    due.mapped()();
  }
  return -1;
}

void Loop::run() {
  epoll_event events[64];
  for (;;) {
    {
      std::lock_guard lock(mutex_);
      if (stopping_)
        return;
    }
    int patience = run_timers();
    int count =
      ::epoll_wait(epoll_.get(), events, static_cast<int>(std::size(events)), patience);
    for (int i = 0; i < count; ++i) {
      auto token = tokens_.find(events[i].data.u64);
      if (token == tokens_.end())
        continue; // Unwatched by an earlier event of this round.
      auto f = watches_.at(token->second).f; // Kept alive in case it calls unwatch().
      (*f)(events[i].events);
    }
  }
}

} // namespace fiber::backends
