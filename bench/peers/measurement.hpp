// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>

namespace peers {

/// Seconds since it was made.
class Stopwatch {
public:
  double seconds() const {
    return std::chrono::duration<double>(Clock::now() - start_).count();
  }

private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
};

/// Prints a measurement as bench/run.py reads it.
inline void report(const std::string& name, double value, const char* unit) {
  std::printf("{\"name\": \"%s\", \"value\": %.9g, \"unit\": \"%s\"}\n", name.c_str(),
              value, unit);
  std::fflush(stdout);
}

/// Prints, for the report, what was measured: a name and a version.
inline void report_version(const std::string& version) {
  std::printf("{\"version\": \"%s\"}\n", version.c_str());
}

/// The seconds in the last part of a row's name: overhead_batch_100ms is 0.1.
inline double duration_of(const std::string& row) {
  const auto text = row.substr(row.rfind('_') + 1);
  std::size_t digits = 0;
  const double number = std::stoi(text, &digits);
  const auto unit = text.substr(digits);
  if (unit == "s")
    return number;
  if (unit == "ms")
    return number * 1e-3;
  if (unit == "us")
    return number * 1e-6;
  throw std::invalid_argument("no duration in " + row);
}

} // namespace peers
