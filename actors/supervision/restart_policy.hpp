// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <random>

#include "actors/core/exit.hpp"
#include "fiber/supervision.hpp"

// The decisions of a supervisor, apart from its actor: no clock, no message.

namespace fiber::actors {

using TimePoint = std::chrono::steady_clock::time_point;

/// A child that lives longer starts a new row of failures, unless its supervisor is told
/// otherwise.
inline constexpr std::chrono::milliseconds default_reset_after{10000};

/// Returns whether a child that ended like this is restarted.
bool starts_again(Restart restart, ExitKind kind);

/// Returns whether this end is a failure of the child: a failure counts against the
/// intensity and delays the next start.
bool is_failure(ExitKind kind);

/// Counts restarts against an intensity.
class RestartWindow {
public:
  /// Allows `intensity` restarts within any `period`, or since the last forgive() if
  /// there is no period.
  RestartWindow(int intensity, std::optional<std::chrono::milliseconds> period);

  /// Counts a restart; false if it exceeds the intensity.
  bool add(TimePoint now);
  /// Returns the restarts within the period as of the last add().
  int count() const { return count_; }
  /// Sets the count to zero.
  void forgive();
  /// Sets the intensity; restarts that were counted stay counted.
  void allow(int intensity) { intensity_ = intensity; }

private:
  int intensity_;
  std::optional<std::chrono::milliseconds> period_;
  std::deque<TimePoint> recent_; // Empty if there is no period.
  int count_ = 0;
};

/// Counts the failures of a child in a row.
class FailureStreak {
public:
  void started(TimePoint now) { started_ = now; }
  /// Counts a failure and returns the number in a row. The row starts anew if the child
  /// lived for longer than `reset_after`.
  int failed(TimePoint now, std::chrono::milliseconds reset_after);
  void forgive() { failures_ = 0; }

private:
  std::optional<TimePoint> started_; // Empty once that start has failed.
  int failures_ = 0;
};

/// Draws the wait before a restart.
class BackoffDice {
public:
  BackoffDice(const Backoff& backoff, std::uint64_t seed);

  /// Returns 0 after the first failure in a row, then Backoff's sequence. Senseless
  /// values of Backoff are replaced by the nearest valid ones.
  std::chrono::milliseconds wait(int failures_in_row);

private:
  Backoff backoff_;
  std::mt19937_64 random_;
};

} // namespace fiber::actors
