// SPDX-License-Identifier: Apache-2.0
#include "fiber/detail/call_feed.hpp"

#include <algorithm>
#include <utility>

#include "libfiber/pool/feed_target.hpp"

namespace fiber::detail {
namespace {

/// Limit on the argument bytes of unfinished tasks of a call with a window.
constexpr std::size_t window_bytes = 64 * 1024 * 1024;

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
  return target_->journal.has_value();
}

std::optional<bool> CallFeed::restore() {
  auto& journal = *target_->journal;
  auto value = journal.find(added_, compared_);
  if (!value)
    return std::nullopt;
  if (!ends_.empty())
    flush();
  if (!journal.add(added_++, std::move(*value)))
    return false;
  journal.deliver();
  return true;
}

bool CallFeed::end_task(KeepScope& scope) {
  actors::check_size(bytes_.size() - (ends_.empty() ? 0 : ends_.back()),
                     target_->max_argument_bytes);
  if (ends_.empty()) {
    if (journalled())
      target_->journal->deliver(); // Indices must ascend.
    target_->limits.begin();
  }
  ends_.push_back(bytes_.size());
  if (journalled())
    target_->journal->will_run();
  for (auto& object : scope.take())
    kept_.push_back(std::move(object));
  ++added_;
  if (!BatchLimits::is_full(ends_.size(), bytes_.size()) && !target_->limits.is_late())
    return false;
  flush();
  return true;
}

void CallFeed::flush() {
  if (journalled())
    target_->journal->deliver();
  if (ends_.empty())
    return;
  auto more = to_come();
  sent_ += ends_.size();
  sent_bytes_ += bytes_.size();
  target_->send(std::exchange(bytes_, {}), std::exchange(ends_, {}),
                std::exchange(kept_, {}), more);
  if (journalled())
    target_->journal->submitted();
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
  if (!BatchLimits::is_full(ends_.size(), bytes_.size()))
    return 0;
  auto left = expected_ - std::min(expected_, added_);
  auto unfinished = added_ - std::min(added_, target_->results->done());
  return std::min(left, window() - std::min(window(), unfinished));
}

std::size_t CallFeed::window() const {
  auto most = target_->window_tasks;
  auto window = window_of(sent_bytes_, sent_, most);
  // Restored results are complete at once, so they have an average size of their own.
  auto& journal = target_->journal;
  return journal ? std::min(window, window_of(journal->bytes(), journal->tasks(), most))
                 : window;
}

bool CallFeed::wants(std::size_t taken) const {
  return added_ - taken <= window() / 2;
}
bool CallFeed::full(std::size_t taken) const {
  return added_ - taken >= window();
}

} // namespace fiber::detail
