// SPDX-License-Identifier: Apache-2.0
#include "actors/roster/task_stream.hpp"

#include <algorithm>
#include <utility>

namespace fiber::actors {

void TaskStream::add(StreamSpan span) {
  std::lock_guard lock(mutex_);
  auto passed = std::chrono::duration<double>(span.to - filled_).count();
  filled_ = std::max(filled_, span.to);
  budget_ = std::min(max_at_once, budget_ + std::max(passed, 0.0) * max_per_second);
  if (span.outcome == StreamSpan::Outcome::value && budget_ < 1) {
    left_out_ += span.tasks;
    return;
  }
  budget_ = std::max(0.0, budget_ - 1);
  ++next_;
  spans_.push_back(std::move(span));
  if (spans_.size() > max_kept) {
    dropped_ += spans_.front().tasks;
    spans_.pop_front();
  }
}

TaskStream::Piece TaskStream::since(std::uint64_t from) const {
  std::lock_guard lock(mutex_);
  auto oldest = next_ - spans_.size();
  from = std::clamp(from, oldest, next_);
  return {
    .spans = {spans_.begin() + static_cast<std::ptrdiff_t>(from - oldest), spans_.end()},
    .first = from,
    .next = next_,
    .left_out = left_out_,
    .dropped = dropped_};
}

} // namespace fiber::actors
