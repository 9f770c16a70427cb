// SPDX-License-Identifier: Apache-2.0
#include "fiber/rl/normalisation.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>

#include "fiber/rl/detail/number_text.hpp"

namespace fiber::rl {
namespace {
namespace moments_of_rows {

bool skipped(std::span<const std::uint8_t> valid, std::size_t row) {
  return !valid.empty() && valid[row] == 0;
}

template <class Number>
void check(std::span<const Number> rows, std::span<const std::uint8_t> valid,
           std::size_t size) {
  if (size == 0 || rows.size() % size != 0)
    throw std::invalid_argument(std::to_string(rows.size()) +
                                " numbers are not whole rows of " + std::to_string(size));
  const auto count = rows.size() / size;
  if (!valid.empty() && valid.size() != count)
    throw std::invalid_argument(std::to_string(valid.size()) + " flags of validity for " +
                                std::to_string(count) + " rows");
  for (std::size_t row = 0; row < count; ++row)
    for (auto number : rows.subspan(row * size, size))
      if (!skipped(valid, row) && !std::isfinite(number))
        throw std::domain_error(
          "row " + std::to_string(row) +
          " has a number that is not finite: " + detail::shown(number));
}

} // namespace moments_of_rows
} // namespace

template <class Number>
void RunningMoments::add_rows(std::span<const Number> rows,
                              std::span<const std::uint8_t> valid) {
  moments_of_rows::check(rows, valid, size());
  for (std::size_t row = 0; row < rows.size() / size(); ++row) {
    if (moments_of_rows::skipped(valid, row))
      continue;
    ++count_;
    const auto share = 1.0 / static_cast<double>(count_);
    for (std::size_t i = 0; i < size(); ++i) {
      const double number = rows[row * size() + i];
      const double distance = number - mean_[i];
      mean_[i] += distance * share;
      squares_[i] += distance * (number - mean_[i]);
    }
  }
}

void RunningMoments::add(std::span<const float> rows,
                         std::span<const std::uint8_t> valid) {
  add_rows(rows, valid);
}

void RunningMoments::add(std::span<const double> rows,
                         std::span<const std::uint8_t> valid) {
  add_rows(rows, valid);
}

void RunningMoments::merge(const RunningMoments& other) {
  if (other.size() != size())
    throw std::invalid_argument(
      "cannot merge moments of rows of " + std::to_string(other.size()) +
      " numbers into moments of rows of " + std::to_string(size()));
  if (other.count_ == 0)
    return;
  const auto mine = static_cast<double>(count_);
  const auto theirs = static_cast<double>(other.count_);
  const auto share = theirs / (mine + theirs);
  for (std::size_t i = 0; i < size(); ++i) {
    const double distance = other.mean_[i] - mean_[i];
    mean_[i] += distance * share;
    squares_[i] += other.squares_[i] + distance * distance * mine * share;
  }
  count_ += other.count_;
}

double RunningMoments::variance(std::size_t component) const {
  return count_ < 2 ? 1.0 : squares_.at(component) / static_cast<double>(count_);
}

FrozenNormaliser::FrozenNormaliser(const RunningMoments& moments, double clip,
                                   double epsilon)
  : mean_(moments.mean().begin(), moments.mean().end()), clip_(clip) {
  scale_.reserve(mean_.size());
  for (std::size_t i = 0; i < mean_.size(); ++i)
    scale_.push_back(1.0 / std::sqrt(moments.variance(i) + epsilon));
}

FrozenNormaliser::FrozenNormaliser(std::vector<double> mean, std::vector<double> scale,
                                   double clip)
  : mean_(std::move(mean)), scale_(std::move(scale)), clip_(clip) {
  if (mean_.size() != scale_.size())
    throw std::invalid_argument(std::to_string(mean_.size()) + " means need as many " +
                                "factors, not " + std::to_string(scale_.size()));
}

void FrozenNormaliser::apply(std::span<float> rows) const {
  if (identity())
    return;
  const auto size = mean_.size();
  if (rows.size() % size != 0)
    throw std::invalid_argument(std::to_string(rows.size()) +
                                " numbers are not whole observations of " +
                                std::to_string(size));
  for (std::size_t row = 0; row < rows.size(); row += size)
    for (std::size_t i = 0; i < size; ++i) {
      const double scaled = (rows[row + i] - mean_[i]) * scale_[i];
      rows[row + i] = static_cast<float>(std::clamp(scaled, -clip_, clip_));
    }
}

void RewardNormaliser::apply(std::span<const double> rewards,
                             std::span<const std::uint8_t> terminated,
                             std::span<const std::uint8_t> truncated,
                             std::span<const std::uint8_t> valid,
                             std::span<const int> env_ids, std::span<double> out) {
  const auto rows = rewards.size();
  if (terminated.size() != rows || truncated.size() != rows || valid.size() != rows ||
      env_ids.size() != rows || out.size() != rows)
    throw std::invalid_argument(
      "rewards, flags, ids and results differ in number: " + std::to_string(rows) +
      " rewards, " + std::to_string(env_ids.size()) + " ids");
  for (std::size_t row = 0; row < rows; ++row) {
    const auto id = env_ids[row];
    if (id < 0 || static_cast<std::size_t>(id) >= returns_.size())
      throw std::invalid_argument("no environment " + std::to_string(id) +
                                  "; the normaliser is for " +
                                  std::to_string(returns_.size()));
    if (valid[row] != 0 && !std::isfinite(rewards[row]))
      throw std::domain_error("the reward of environment " + std::to_string(id) +
                              " is not finite: " + detail::shown(rewards[row]));
  }
  for (std::size_t row = 0; row < rows; ++row)
    if (valid[row] != 0) {
      auto& sum = returns_[static_cast<std::size_t>(env_ids[row])];
      sum = gamma_ * sum + rewards[row];
      moments_.add(std::span<const double>(&sum, 1));
    }
  const double scale = 1.0 / std::sqrt(moments_.variance(0) + epsilon_);
  for (std::size_t row = 0; row < rows; ++row) {
    out[row] = valid[row] != 0 ? std::clamp(rewards[row] * scale, -clip_, clip_) : 0.0;
    if (valid[row] == 0 || terminated[row] != 0 || truncated[row] != 0)
      returns_[static_cast<std::size_t>(env_ids[row])] = 0;
  }
}

} // namespace fiber::rl
