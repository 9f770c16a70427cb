// SPDX-License-Identifier: Apache-2.0
#include "fiber/rl/population.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "fiber/error.hpp"
#include "fiber/rl/detail/number_text.hpp"
#include "fiber/rl/random.hpp"

namespace fiber::rl {
namespace {
namespace pbt {

// What a stream of random numbers is for: the first part of its key.
constexpr std::uint64_t first_values = 201;
constexpr std::uint64_t exploit = 202;
constexpr std::uint64_t explore = 203;

double drawn(const HyperparameterRange& range, Random& random) {
  if (!range.logarithmic)
    return random.uniform(range.low, range.high);
  return std::exp(random.uniform(std::log(range.low), std::log(range.high)));
}

/// NaN as the least value.
double comparable(double score) {
  return std::isnan(score) ? -std::numeric_limits<double>::infinity() : score;
}

/// Perturbs or draws anew each hyper-parameter.
Hyperparameters explored(const PopulationOptions& options, Hyperparameters values,
                         Random random) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto& range = options.ranges[i];
    const bool anew = random.uniform() < options.resample;
    const double factor = random.uniform() < 0.5 ? options.up : options.down;
    const double value = drawn(range, random);
    values[i] = anew ? value : std::clamp(values[i] * factor, range.low, range.high);
  }
  return values;
}

} // namespace pbt
} // namespace

void PopulationOptions::check() const {
  if (members < 2)
    throw std::invalid_argument("a population needs at least 2 members, not " +
                                std::to_string(members));
  if (interval == 0)
    throw std::invalid_argument("the interval must be at least 1 round");
  if (!(quantile > 0 && quantile <= 0.5))
    throw std::invalid_argument("the quantile must be above 0 and at most 0.5");
  if (!(resample >= 0 && resample <= 1))
    throw std::invalid_argument("the probability to resample must be 0 to 1");
  if (!(up > 0) || !(down > 0))
    throw std::invalid_argument("the factors of explore must be above 0");
  if (round_timeout && round_timeout->count() < 1)
    throw std::invalid_argument("the round_timeout must be at least 1 ms, or nothing");
  for (const auto& range : ranges)
    if (!(range.low <= range.high) || (range.logarithmic && !(range.low > 0)))
      throw std::invalid_argument("the range of " + range.name +
                                  " must not be empty, and above 0 if logarithmic");
}

std::map<std::string, std::string> PopulationOptions::settings() const {
  std::map<std::string, std::string> all = {
    {"members", detail::number_text(members)},
    {"seed", detail::number_text(seed)},
    {"interval", detail::number_text(interval)},
    {"quantile", detail::number_text(quantile)},
    {"factors", detail::number_text(up) + " " + detail::number_text(down)},
    {"resample", detail::number_text(resample)},
    {"exploit", exploit ? (copy_hyperparameters ? "all" : "state") : "no"},
    {"explore", explore ? "yes" : "no"}};
  for (const auto& range : ranges)
    all["range of " + range.name] =
      detail::number_text(range.low) + " to " + detail::number_text(range.high);
  return all;
}

namespace detail {

std::unique_ptr<CallWatch> watch_training(std::uint64_t member, std::uint64_t round,
                                          std::chrono::milliseconds limit) {
  if (limit.count() == 0)
    return nullptr;
  auto tell = [text = "member " + std::to_string(member) +
                      " of a population hung: round " + std::to_string(round) +
                      " took longer than " + std::to_string(limit.count()) +
                      " ms (round_timeout); its job is replaced\n"](std::uint32_t) {
    // Unlike a record of the log, this outlives the process that ends now.
    [[maybe_unused]] const auto written =
      ::write(STDERR_FILENO, text.data(), text.size());
  };
  auto watch = std::make_unique<CallWatch>(limit, std::move(tell));
  watch->begin(0);
  return watch;
}

void check_can_end(const ProcessMark& member) {
  if (member == process_mark())
    throw ConfigError("round_timeout", "PopulationOptions",
                      "only with a backend whose jobs are processes",
                      "with the backend inline members train in this process, and "
                      "nothing can interrupt one that hangs");
}

void check_losses(std::size_t member, std::uint64_t round, int losses,
                  const std::string& reason) {
  constexpr int most = 10;
  if (losses >= most)
    throw TimeoutError("member " + std::to_string(member) + " of a population has lost " +
                       std::to_string(losses) + " jobs in round " +
                       std::to_string(round) + ", the last one: " + reason +
                       ". Exit code " + std::to_string(CallWatch::exit_code) +
                       " means that the round took longer than round_timeout");
}

} // namespace detail

Hyperparameters initial_hyperparameters(const PopulationOptions& options,
                                        std::size_t member) {
  Random random(options.seed, {pbt::first_values, member});
  Hyperparameters values;
  for (const auto& range : options.ranges)
    values.push_back(pbt::drawn(range, random));
  return values;
}

std::vector<Succession>
exploit_and_explore(const PopulationOptions& options, std::uint64_t round,
                    std::span<const double> scores,
                    const std::vector<Hyperparameters>& hyperparameters) {
  std::vector<Succession> all;
  for (const auto& values : hyperparameters)
    all.push_back({{}, values});
  if (!options.exploit && !options.explore)
    return all;
  std::vector<std::size_t> order(scores.size()); // The best first.
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::ranges::greater(),
                           [&](std::size_t i) { return pbt::comparable(scores[i]); });
  const auto members = static_cast<double>(scores.size());
  const auto share =
    std::max<std::size_t>(1, static_cast<std::size_t>(members * options.quantile));
  for (auto place = order.size() - share; place < order.size(); ++place) {
    const auto member = order[place];
    auto& next = all[member];
    if (options.exploit) {
      Random random(options.seed, {pbt::exploit, round, member});
      const auto source = order[random.below(share)];
      if (!(pbt::comparable(scores[source]) > pbt::comparable(scores[member])))
        continue;
      next.source = source;
      if (options.copy_hyperparameters)
        next.hyperparameters = hyperparameters[source];
    }
    if (options.explore)
      next.hyperparameters =
        pbt::explored(options, std::move(next.hyperparameters),
                      Random(options.seed, {pbt::explore, round, member}));
  }
  return all;
}

std::size_t highest(std::span<const double> values) {
  const auto best = std::ranges::max_element(values, {}, pbt::comparable);
  return static_cast<std::size_t>(best - values.begin());
}

} // namespace fiber::rl
