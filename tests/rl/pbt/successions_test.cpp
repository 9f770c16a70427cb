// SPDX-License-Identifier: Apache-2.0
// Exploit and explore as in Jaderberg et al. 2017: the worst copy the best and change
// their hyper-parameters; the others go on.

#include <cmath>
#include <limits>
#include <set>
#include <stdexcept>

#include <gtest/gtest.h>

#include "fiber/rl/population.hpp"

namespace fiber::rl {
namespace {

PopulationOptions eight() {
  PopulationOptions options;
  options.members = 8;
  options.ranges = {{"rate", 1e-4, 1, true}, {"sigma", 0.1, 0.9}};
  options.resample = 0;
  return options;
}

const std::vector<double> scores = {3, 9, 1, 7,
                                    5, 2, 8, 4}; // Worst: 2 and 5; best: 1, 6.

std::vector<Hyperparameters> values_of(const PopulationOptions& options) {
  std::vector<Hyperparameters> values;
  for (std::size_t i = 0; i < options.members; ++i)
    values.push_back({0.01 * static_cast<double>(i + 1), 0.5});
  return values;
}

TEST(SuccessionsTest, the_worst_quarter_copies_the_best_quarter) {
  const auto options = eight();
  const auto before = values_of(options);
  std::set<std::size_t> sources;
  for (std::uint64_t round = 1; round <= 30; ++round) {
    const auto after = exploit_and_explore(options, round, scores, before);
    for (std::size_t i = 0; i < 8; ++i)
      if (i == 2 || i == 5) {
        ASSERT_TRUE(after[i].source);
        sources.insert(*after[i].source);
        const auto& copied = before[*after[i].source];
        for (std::size_t k = 0; k < 2; ++k) {
          const double factor = after[i].hyperparameters[k] / copied[k];
          EXPECT_TRUE(std::abs(factor - 1.2) < 1e-12 || std::abs(factor - 0.8) < 1e-12)
            << factor;
        }
      } else {
        EXPECT_FALSE(after[i].source);
        EXPECT_EQ(after[i].hyperparameters, before[i]);
      }
  }
  EXPECT_EQ(sources, (std::set<std::size_t>{1, 6}));
}

TEST(SuccessionsTest, both_factors_come_up_and_ranges_are_kept) {
  auto options = eight();
  options.up = 100;
  options.down = 0.01;
  std::set<double> seen;
  for (std::uint64_t round = 1; round <= 30; ++round)
    seen.insert(exploit_and_explore(options, round, scores, values_of(options))[2]
                  .hyperparameters[1]);
  EXPECT_EQ(seen, (std::set<double>{0.1, 0.9}));
}

TEST(SuccessionsTest, a_quarter_of_the_values_is_drawn_anew) {
  auto options = eight();
  options.resample = 0.25;
  int anew = 0, all = 0;
  for (std::uint64_t round = 1; round <= 500; ++round) {
    const auto after =
      exploit_and_explore(options, round, scores, values_of(options))[2].hyperparameters;
    ++all;
    anew += std::abs(after[1] - 0.6) > 1e-12 && std::abs(after[1] - 0.4) > 1e-12 ? 1 : 0;
    EXPECT_GE(after[0], 1e-4);
    EXPECT_LE(after[0], 1);
  }
  EXPECT_NEAR(static_cast<double>(anew) / all, 0.25, 0.06);
}

TEST(SuccessionsTest, parts_can_be_left_out) {
  auto options = eight();
  options.explore = false;
  auto after = exploit_and_explore(options, 1, scores, values_of(options));
  ASSERT_TRUE(after[2].source);
  EXPECT_EQ(after[2].hyperparameters, values_of(options)[*after[2].source]);
  options.copy_hyperparameters = false;
  after = exploit_and_explore(options, 1, scores, values_of(options));
  EXPECT_EQ(after[2].hyperparameters, values_of(options)[2]);
  options.explore = true;
  options.exploit = false;
  after = exploit_and_explore(options, 1, scores, values_of(options));
  EXPECT_FALSE(after[2].source);
  EXPECT_NE(after[2].hyperparameters, values_of(options)[2]);
  options.explore = false;
  after = exploit_and_explore(options, 1, scores, values_of(options));
  EXPECT_EQ(after[2].hyperparameters, values_of(options)[2]);
}

TEST(SuccessionsTest, a_score_that_is_not_a_number_is_the_worst_and_equal_ones_stay) {
  auto options = eight();
  options.members = 4;
  const auto nan = std::numeric_limits<double>::quiet_NaN();
  const auto values = values_of(options);
  auto after = exploit_and_explore(options, 1, std::vector{1.0, nan, 3.0, 2.0}, values);
  EXPECT_EQ(after[1].source, 2u);
  EXPECT_FALSE(after[0].source);
  after = exploit_and_explore(options, 1, std::vector(4, 5.0), values);
  for (const auto& each : after)
    EXPECT_FALSE(each.source);
  EXPECT_EQ(highest(std::vector{nan, 1.0, 2.0, 2.0}), 2u);
}

TEST(SuccessionsTest, everything_follows_from_the_seed) {
  auto options = eight();
  options.resample = 0.5;
  const auto values = values_of(options);
  auto first = exploit_and_explore(options, 3, scores, values);
  auto again = exploit_and_explore(options, 3, scores, values);
  EXPECT_EQ(first[5].hyperparameters, again[5].hyperparameters);
  EXPECT_EQ(initial_hyperparameters(options, 3), initial_hyperparameters(options, 3));
  EXPECT_NE(initial_hyperparameters(options, 3), initial_hyperparameters(options, 4));
  const auto start = initial_hyperparameters(options, 0);
  options.seed = 2;
  EXPECT_NE(initial_hyperparameters(options, 0), start);
}

TEST(SuccessionsTest, options_that_make_no_sense_are_refused) {
  auto refused = [](auto change) {
    auto options = eight();
    change(options);
    EXPECT_THROW(options.check(), std::invalid_argument);
  };
  EXPECT_NO_THROW(eight().check());
  refused([](auto& options) { options.members = 1; });
  refused([](auto& options) { options.interval = 0; });
  refused([](auto& options) { options.quantile = 0.6; });
  refused([](auto& options) { options.resample = -1; });
  refused([](auto& options) { options.up = 0; });
  refused([](auto& options) { options.ranges[0].low = 0; });
  refused([](auto& options) { options.ranges[1].low = 2; });
}

} // namespace
} // namespace fiber::rl
