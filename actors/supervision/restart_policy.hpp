// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <random>

#include "actors/core/exit.hpp"
#include "fiber/supervision.hpp"

// What a supervisor decides, apart from the actor that does it: no clock, no message.

namespace fiber::actors {

using TimePoint = std::chrono::steady_clock::time_point;

/// Whether a child that ended so starts again.
bool starts_again(Restart restart, ExitKind kind);

/// Whether such an end says that something is wrong with the child: then it counts
/// against the intensity and makes the next start wait.
bool is_failure(ExitKind kind);

/// Counts restarts against an intensity.
class RestartWindow {
public:
  /// `intensity` restarts are allowed within any `period`; without one, since forgive().
  RestartWindow(int intensity, std::optional<std::chrono::milliseconds> period);

  /// Counts a restart. False if it is one too many.
  bool add(TimePoint now);
  /// Those that count as of the last add().
  int count() const { return count_; }
  void forgive();
  /// From now on; what was counted stays counted.
  void allow(int intensity) { intensity_ = intensity; }

private:
  int intensity_;
  std::optional<std::chrono::milliseconds> period_;
  std::deque<TimePoint> recent_; // Stays empty if there is no period.
  int count_ = 0;
};

/// How often a child has failed in a row.
class FailureStreak {
public:
  void started(TimePoint now) { started_ = now; }
  /// Counts a failure and returns the number in a row. A child that lived for longer than
  /// `reset_after` before starts from zero.
  int failed(TimePoint now, std::chrono::milliseconds reset_after);
  void forgive() { failures_ = 0; }

private:
  std::optional<TimePoint> started_; // Empty once that start has failed.
  int failures_ = 0;
};

/// Draws how long to wait before a restart.
class BackoffDice {
public:
  BackoffDice(const Backoff& backoff, std::uint64_t seed);

  /// After the first failure in a row nothing, then Backoff's sequence. Values of Backoff
  /// that make no sense are taken as the nearest that do.
  std::chrono::milliseconds wait(int failures_in_row);

private:
  Backoff backoff_;
  std::mt19937_64 random_;
};

} // namespace fiber::actors
