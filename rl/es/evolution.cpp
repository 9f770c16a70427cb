// SPDX-License-Identifier: Apache-2.0
#include "fiber/rl/evolution.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <stdexcept>
#include <string>

#include "fiber/rl/random.hpp"
#include "rl/es/keys.hpp"

namespace fiber::rl {
namespace {
namespace es_update {

/// Divides by the standard deviation. All 0 if the values are equal: then no direction is
/// better than another one.
std::vector<double> by_deviation(std::vector<double> values) {
  const auto size = static_cast<double>(values.size());
  const auto mean = std::accumulate(values.begin(), values.end(), 0.0) / size;
  double squares = 0;
  for (auto& value : values) {
    value -= mean;
    squares += value * value;
  }
  const auto deviation = std::sqrt(squares / size);
  for (auto& value : values)
    value = deviation > 0 ? value / deviation : 0;
  return values;
}

} // namespace es_update
} // namespace

Evolution::Evolution(const std::vector<float>& parameters, std::span<const float> noise,
                     std::uint64_t seed, EvolutionOptions options)
  : Evolution(EvolutionState{.iteration = 0,
                             .parameters = parameters,
                             .moment1 = std::vector<double>(parameters.size()),
                             .moment2 = std::vector<double>(parameters.size())},
              noise, seed, options) {}

Evolution::Evolution(EvolutionState state, std::span<const float> noise,
                     std::uint64_t seed, EvolutionOptions options)
  : state_(std::move(state)), noise_(noise), seed_(seed), options_(options) {
  const auto size = state_.parameters.size();
  if (size == 0 || state_.moment1.size() != size || state_.moment2.size() != size)
    throw std::invalid_argument("an evolution needs parameters and as many moments");
  if (noise_.size() < size)
    throw std::invalid_argument("the noise table is shorter than the parameters");
  if (options_.directions == 0 || !(options_.sigma > 0) || !(options_.learning_rate > 0))
    throw std::invalid_argument("directions, sigma and learning rate must be above 0");
  if (options_.top > options_.directions)
    throw std::invalid_argument("only the best " + std::to_string(options_.top) +
                                " directions are to count, but there are " +
                                std::to_string(options_.directions));
}

std::vector<std::uint64_t> Evolution::ask() const {
  const auto places = noise_.size() - state_.parameters.size() + 1;
  std::vector<std::uint64_t> offsets(options_.directions);
  for (std::size_t i = 0; i < offsets.size(); ++i)
    offsets[i] = Random(seed_, {es::noise_offset, state_.iteration, i}).below(places);
  return offsets;
}

void Evolution::tell(std::span<const MirroredReturns> returns) {
  if (returns.size() != options_.directions)
    throw std::invalid_argument("there must be one pair of returns a direction");
  const auto slope = gradient(returns);
  ++state_.iteration;
  move(slope);
}

void Evolution::move(std::span<const double> slope) {
  if (options_.optimiser == Optimiser::sgd) {
    for (std::size_t i = 0; i < slope.size(); ++i)
      state_.parameters[i] =
        static_cast<float>(state_.parameters[i] + options_.learning_rate * slope[i]);
    return;
  }
  const auto time = static_cast<double>(state_.iteration);
  const double rate = options_.learning_rate *
                      std::sqrt(1 - std::pow(options_.beta2, time)) /
                      (1 - std::pow(options_.beta1, time));
  for (std::size_t i = 0; i < slope.size(); ++i) {
    auto& first = state_.moment1[i];
    auto& second = state_.moment2[i];
    first = options_.beta1 * first + (1 - options_.beta1) * slope[i];
    second = options_.beta2 * second + (1 - options_.beta2) * (slope[i] * slope[i]);
    const double step = rate * first / (std::sqrt(second) + options_.epsilon);
    state_.parameters[i] = static_cast<float>(state_.parameters[i] + step);
  }
}

std::vector<std::size_t>
Evolution::counting(std::span<const MirroredReturns> returns) const {
  std::vector<std::size_t> directions(returns.size());
  std::iota(directions.begin(), directions.end(), std::size_t{0});
  if (options_.top == 0)
    return directions;
  std::ranges::stable_sort(directions, std::greater(), [&](std::size_t i) {
    return std::max(returns[i].plus, returns[i].minus);
  });
  directions.resize(options_.top);
  std::ranges::sort(directions);
  return directions;
}

std::vector<double> Evolution::gradient(std::span<const MirroredReturns> returns) const {
  for (const auto& pair : returns)
    if (!std::isfinite(pair.plus) || !std::isfinite(pair.minus))
      throw std::invalid_argument("a return is not a finite number");
  const auto directions = counting(returns);
  std::vector<double> values;
  values.reserve(2 * directions.size());
  for (auto i : directions) {
    values.push_back(returns[i].plus);
    values.push_back(returns[i].minus);
  }
  const auto scores = options_.normalise_by_deviation
                        ? es_update::by_deviation(std::move(values))
                        : centred_ranks(values);
  const auto offsets = ask();
  std::vector<double> slope(state_.parameters.size());
  for (std::size_t i = 0; i < directions.size(); ++i) {
    const double weight = scores[2 * i] - scores[2 * i + 1];
    const auto direction = noise_.subspan(offsets[directions[i]], slope.size());
    for (std::size_t j = 0; j < slope.size(); ++j)
      slope[j] += weight * static_cast<double>(direction[j]);
  }
  const double divisor =
    options_.optimiser == Optimiser::sgd
      ? static_cast<double>(directions.size())
      : static_cast<double>(scores.size()) * static_cast<double>(options_.sigma);
  const double scale = 1.0 / divisor;
  for (std::size_t j = 0; j < slope.size(); ++j)
    slope[j] = slope[j] * scale - options_.weight_decay * state_.parameters[j];
  return slope;
}

std::vector<double> centred_ranks(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return values[i]; });
  std::vector<double> ranks(values.size());
  const double last = std::max<double>(1.0, static_cast<double>(values.size()) - 1.0);
  for (std::size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    while (end < order.size() && values[order[end]] == values[order[begin]])
      ++end;
    const double middle = static_cast<double>(begin + end - 1) / 2.0;
    for (auto i = begin; i < end; ++i)
      ranks[order[i]] = values.size() > 1 ? middle / last - 0.5 : 0.0;
  }
  return ranks;
}

std::vector<float> perturbed(std::span<const float> parameters,
                             std::span<const float> noise, std::uint64_t offset,
                             float step) {
  if (noise.size() < parameters.size() || offset > noise.size() - parameters.size())
    throw std::out_of_range("a noise offset beyond the end of the table");
  std::vector<float> result(parameters.begin(), parameters.end());
  const auto direction = noise.subspan(offset, parameters.size());
  for (std::size_t i = 0; i < result.size(); ++i)
    result[i] += step * direction[i];
  return result;
}

std::vector<float> make_noise_table(std::size_t size, std::uint64_t seed) {
  Random random(seed, {es::noise_table});
  std::vector<float> table(size);
  for (auto& value : table)
    value = static_cast<float>(random.normal());
  return table;
}

} // namespace fiber::rl
