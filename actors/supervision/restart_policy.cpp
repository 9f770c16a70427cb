// SPDX-License-Identifier: Apache-2.0
#include "actors/supervision/restart_policy.hpp"

#include <algorithm>
#include <cmath>

#include "base/bounded_time.hpp"

namespace fiber::actors {

using std::chrono::milliseconds;

bool starts_again(Restart restart, ExitKind kind) {
  switch (restart) {
  case Restart::permanent:
    return true;
  case Restart::transient:
    return kind != ExitKind::planned;
  case Restart::temporary:
    return false;
  }
  return false;
}

bool is_failure(ExitKind kind) {
  return kind == ExitKind::lost || kind == ExitKind::escalated;
}

RestartWindow::RestartWindow(int intensity, std::optional<milliseconds> period)
  : intensity_(intensity), period_(period) {}

bool RestartWindow::add(TimePoint now) {
  ++count_;
  if (period_) {
    recent_.push_back(now);
    while (now - recent_.front() > *period_)
      recent_.pop_front();
    count_ = static_cast<int>(recent_.size());
  }
  return count_ <= intensity_;
}

void RestartWindow::forgive() {
  recent_.clear();
  count_ = 0;
}

int FailureStreak::failed(TimePoint now, milliseconds reset_after) {
  if (started_ && now - *started_ > reset_after)
    failures_ = 0;
  started_.reset();
  return ++failures_;
}

BackoffDice::BackoffDice(const Backoff& backoff, std::uint64_t seed)
  : backoff_(backoff), random_(seed) {
  backoff_.first = std::max(bounded(backoff_.first), milliseconds(0));
  backoff_.most = std::max(bounded(backoff_.most), milliseconds(0));
  backoff_.factor = std::max(1.0, backoff_.factor); // In this order NaN becomes 1, too.
  backoff_.jitter = std::min(1.0, std::max(0.0, backoff_.jitter));
}

milliseconds BackoffDice::wait(int failures_in_row) {
  if (failures_in_row < 2 || backoff_.first.count() == 0)
    return milliseconds(0);
  auto most = static_cast<double>(backoff_.most.count());
  auto grown = static_cast<double>(backoff_.first.count()) *
               std::pow(backoff_.factor, failures_in_row - 2);
  auto middle = grown < most ? grown : most; // `grown` may be infinite.
  auto low = middle * (1 - backoff_.jitter);
  auto high = std::min(middle * (1 + backoff_.jitter), most);
  // Not std::uniform_real_distribution, whose draws differ between standard libraries.
  auto share = static_cast<double>(random_() >> 11) * 0x1p-53;
  return milliseconds(std::llround(low + share * (high - low)));
}

} // namespace fiber::actors
