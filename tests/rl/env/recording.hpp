// SPDX-License-Identifier: Apache-2.0
// What record_box2d.py and record_mujoco.py recorded, and the comparison of two samples
// of episodes.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <numeric>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "fiber/detail/classic_locale.hpp"

namespace fiber::rl::recording {

/// A line of a recording: what it is, and its numbers.
struct Line {
  std::string key;
  int step = 0; ///< Of a line "seen": the number of steps before it.
  std::vector<double> values;
};

/// Returns and lengths of episodes.
struct Episodes {
  std::vector<double> returns, lengths;
};

inline std::ifstream open(const std::string& file) {
  const auto path = std::string(FIBER_RL_RECORDINGS) + "/" + file;
  std::ifstream stream(path);
  if (!stream)
    throw std::runtime_error("cannot open " + path);
  return stream;
}

inline std::vector<Line> lines(const std::string& file) {
  auto stream = open(file);
  std::vector<Line> lines;
  for (std::string text; std::getline(stream, text);) {
    fiber::detail::Classic<std::istringstream> words(text);
    Line line;
    words >> line.key;
    if (line.key == "seen")
      words >> line.step;
    for (double value = 0; words >> value;)
      line.values.push_back(value);
    lines.push_back(std::move(line));
  }
  return lines;
}

inline std::vector<Line> start(const std::string& environment) {
  return lines(environment + "_start.txt");
}

/// The columns of a table, without their names.
inline std::vector<std::vector<double>> columns(const std::string& name) {
  const fiber::detail::ClassicThread numbers;
  auto stream = open(name + ".csv");
  std::string text;
  std::getline(stream, text);
  std::vector<std::vector<double>> columns(
    static_cast<std::size_t>(std::ranges::count(text, ',') + 1));
  while (std::getline(stream, text)) {
    fiber::detail::Classic<std::istringstream> cells(text);
    for (auto& column : columns) {
      std::getline(cells, text, ',');
      column.push_back(std::stod(text));
    }
  }
  return columns;
}

inline Episodes episodes(const std::string& name) {
  const auto table = columns(name);
  return {table.at(0), table.at(1)};
}

/// Plays the episodes 0 to count - 1, each with a new Policy: float32 observation in,
/// action out.
template <class Policy, class Environment>
Episodes play(Environment environment, std::size_t count) {
  Episodes episodes;
  std::array<float, Environment::observation_size> seen = {};
  for (std::uint64_t seed = 0; seed < count; ++seed) {
    Policy policy;
    environment.reset(seed);
    double total = 0, length = 0;
    for (bool over = false; !over; ++length) {
      environment.observe(seen);
      const auto result = environment.step(policy(seen));
      total += result.reward;
      over = result.terminated || result.truncated;
    }
    episodes.returns.push_back(total);
    episodes.lengths.push_back(length);
  }
  return episodes;
}

inline double mean(const std::vector<double>& values) {
  return std::reduce(values.begin(), values.end()) / static_cast<double>(values.size());
}

inline double deviation(const std::vector<double>& values) {
  double sum = 0;
  for (const auto value : values)
    sum += (value - mean(values)) * (value - mean(values));
  return std::sqrt(sum / static_cast<double>(values.size()));
}

/// The largest difference of the two distribution functions, in units of the critical
/// value of Kolmogorov and Smirnov's test at a level of 0.001: below 1, nothing says that
/// the distributions differ.
inline double difference(std::vector<double> one, std::vector<double> other) {
  std::ranges::sort(one);
  std::ranges::sort(other);
  const auto n = static_cast<double>(one.size()), m = static_cast<double>(other.size());
  double most = 0;
  for (std::size_t i = 0, j = 0; i < one.size() && j < other.size();) {
    const double value = std::min(one[i], other[j]);
    while (i < one.size() && one[i] == value)
      ++i;
    while (j < other.size() && other[j] == value)
      ++j;
    most =
      std::max(most, std::abs(static_cast<double>(i) / n - static_cast<double>(j) / m));
  }
  return most / (std::sqrt(-0.5 * std::log(0.001 / 2)) * std::sqrt((n + m) / (n * m)));
}

/// One of the sums of linear() in record_box2d.py.
template <class Seen>
double linear(double phase, int row, const Seen& seen) {
  double sum = 0;
  for (std::size_t i = 0; i < seen.size(); ++i)
    sum += std::sin(3.0 * row + 1.7 * static_cast<double>(i) + phase) * seen[i];
  return sum;
}

} // namespace fiber::rl::recording
