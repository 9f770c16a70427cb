// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace fiber::observer {

/// The series of numbers that a program publishes. Memory is bounded: a series that is
/// full keeps the mean of every two neighbours, and from then on of twice as many values
/// in each of its points.
///
/// Thread safety: any thread may call any member function.
class SeriesStore {
public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t max_series = 64, max_points = 512, max_name = 100;

  /// `points`: how many a series has at most; an even number.
  explicit SeriesStore(std::size_t points = max_points) : points_(points) {}

  /// Adds a value at the present time. Returns false if there are too many series.
  bool add(std::string_view name, double value);
  /// Returns the list "series" of the snapshot, with times in seconds since `start`, and
  /// sets how many values could not be kept because there were too many series.
  nlohmann::json list(Clock::time_point start, std::uint64_t& refused) const;

private:
  struct Point {
    Clock::time_point at;
    double value = 0;
  };
  struct Series {
    std::vector<Point> points;
    std::uint64_t values = 0; ///< That were published.
    double last = 0;
    std::size_t each = 1; ///< Values in a point.
    double sum = 0;       ///< Of the values that make the next point.
    std::size_t gathered = 0;
  };

  const std::size_t points_;
  mutable std::mutex mutex_;
  std::map<std::string, Series, std::less<>> all_;
  std::uint64_t refused_ = 0;
};

} // namespace fiber::observer
