// SPDX-License-Identifier: Apache-2.0
#include "libfiber/results/one_result.hpp"

#include <mutex>

namespace fiber::detail {

OneResult::OneResult(std::unique_ptr<WaitPoint> point) : point_(std::move(point)) {}

void OneResult::set(RawOutcome outcome, KeptObjects kept) {
  std::unique_lock lock(point_->mutex());
  outcome_ = std::move(outcome);
  kept_ = std::move(kept);
  done_ = 1;
  auto ended = std::exchange(on_end_, {});
  point_->wake();
  lock.unlock();
  for (auto& f : ended)
    f();
}

bool OneResult::wait_index(std::size_t, Clock::time_point limit) {
  return done_ > 0 || point_->wait([this] { return done_ > 0; }, limit);
}

bool OneResult::wait_done(std::size_t, Clock::time_point limit) {
  return wait_index(0, limit);
}

RawOutcome OneResult::at(std::size_t) const {
  std::lock_guard lock(point_->mutex());
  return outcome_;
}

RawOutcome OneResult::take(std::size_t index) {
  wait_index(index, forever);
  return at(index);
}

void OneResult::on_end(std::function<void()> f) {
  {
    std::lock_guard lock(point_->mutex());
    if (done_ == 0) {
      on_end_.push_back(std::move(f));
      return;
    }
  }
  f();
}

} // namespace fiber::detail
