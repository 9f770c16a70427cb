// SPDX-License-Identifier: Apache-2.0
#include "fiber/detail/call_feed.hpp"

#include <ctime>

#include <algorithm>
#include <utility>

#include "libfiber/pool/feed_target.hpp"
#include "libfiber/storage/digest.hpp"

namespace fiber::detail {
namespace {

/// A batch is sent to the pool when it has this many tasks or bytes, or when its first
/// task has waited for about this long.
constexpr std::size_t batch_tasks = 256;
constexpr std::size_t batch_bytes = 64 * 1024;
constexpr std::int64_t batch_ns = 2'000'000;
/// Limit on the argument bytes of unfinished tasks of a call with a window.
constexpr std::size_t window_bytes = 64 * 1024 * 1024;

/// Returns the time in ns. Cheap, with a resolution of a few milliseconds.
std::int64_t coarse_now() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

std::size_t window_of(std::size_t bytes, std::size_t tasks, std::size_t most) {
  auto average = std::max<std::size_t>(1, bytes / std::max<std::size_t>(1, tasks));
  return std::clamp<std::size_t>(window_bytes / average, 4, most);
}

} // namespace

CallFeed::CallFeed(std::unique_ptr<Target> target) : target_(std::move(target)) {}
CallFeed::CallFeed(CallFeed&&) noexcept = default;

CallFeed::~CallFeed() {
  if (!target_ || target_->ended())
    return;
  target_->results->cancel(); // An exception ended the call: its results are not wanted.
  target_->end();
}

std::shared_ptr<Results> CallFeed::results() const {
  return target_->results;
}

void CallFeed::expect(std::size_t tasks) {
  expected_ = tasks;
  target_->results->expect(tasks);
}

bool CallFeed::journalled() const {
  return target_->journal != nullptr;
}

std::optional<bool> CallFeed::restore() {
  auto& target = *target_;
  target.current_digest = digest_of(compared_);
  auto value = target.journal->find(added_, target.current_digest);
  if (!value)
    return std::nullopt;
  if (!ends_.empty())
    flush();
  if (target.restored.empty())
    target.oldest_pending = coarse_now();
  target.pending_bytes += value->size();
  target.restored.push_back({added_++, {std::move(*value), nullptr}});
  if (target.restored.size() < batch_tasks && target.pending_bytes < batch_bytes &&
      coarse_now() - target.oldest_pending <= batch_ns)
    return false;
  target.restore();
  return true;
}

bool CallFeed::end_task(KeepScope& scope) {
  actors::check_size(bytes_.size() - (ends_.empty() ? 0 : ends_.back()),
                     target_->max_argument_bytes);
  if (ends_.empty()) {
    target_->restore(); // Indices must ascend.
    target_->oldest_pending = coarse_now();
  }
  ends_.push_back(bytes_.size());
  if (journalled())
    target_->pending_digests.push_back(target_->current_digest);
  for (auto& object : scope.take())
    kept_.push_back(std::move(object));
  ++added_;
  if (ends_.size() < batch_tasks && bytes_.size() < batch_bytes &&
      coarse_now() - target_->oldest_pending <= batch_ns)
    return false;
  flush();
  return true;
}

void CallFeed::flush() {
  target_->restore();
  if (ends_.empty())
    return;
  auto more = to_come();
  sent_ += ends_.size();
  sent_bytes_ += bytes_.size();
  target_->send(std::exchange(bytes_, {}), std::exchange(ends_, {}),
                std::exchange(kept_, {}), more);
  if (journalled())
    target_->journal->wait_room();
  if (!limited_)
    return;
  auto window = this->window();
  if (added_ > window)
    target_->results->wait_done(added_ - window, Results::forever);
}

void CallFeed::finish() {
  flush();
  target_->end();
}

/// Announces nothing after a batch that the time limit closed: the next tasks may take
/// long to come.
std::size_t CallFeed::to_come() const {
  if (ends_.size() < batch_tasks && bytes_.size() < batch_bytes)
    return 0;
  auto left = expected_ - std::min(expected_, added_);
  auto unfinished = added_ - std::min(added_, target_->results->done());
  return std::min(left, window() - std::min(window(), unfinished));
}

std::size_t CallFeed::window() const {
  auto most = target_->window_tasks;
  // Restored results are complete at once, so they have an average size of their own.
  return std::min(window_of(sent_bytes_, sent_, most),
                  window_of(target_->restored_bytes, target_->restored_tasks, most));
}

bool CallFeed::wants(std::size_t taken) const {
  return added_ - taken <= window() / 2;
}
bool CallFeed::full(std::size_t taken) const {
  return added_ - taken >= window();
}

} // namespace fiber::detail
