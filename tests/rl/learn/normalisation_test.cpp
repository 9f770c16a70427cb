// SPDX-License-Identifier: Apache-2.0
// Running moments are those of two passes over all rows, however the rows come; what is
// saved goes on as if nothing had happened.

#include "fiber/rl/normalisation.hpp"

#include <cmath>
#include <limits>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <boost/archive/binary_iarchive.hpp>
#include <boost/archive/binary_oarchive.hpp>
#include <gtest/gtest.h>

#include "fiber/rl/random.hpp"

namespace fiber::rl {
namespace {

constexpr std::size_t width = 3;
constexpr double rounding = 1e-12;

// Components of different size and offset.
std::vector<float> random_rows(std::size_t count, std::uint64_t seed) {
  Random random(seed);
  std::vector<float> rows;
  for (std::size_t row = 0; row < count; ++row)
    for (double scale : {1.0, 20.0, 0.05})
      rows.push_back(static_cast<float>(3 * scale + scale * random.normal()));
  return rows;
}

double mean_of(const std::vector<float>& rows, std::size_t component) {
  double sum = 0;
  for (auto i = component; i < rows.size(); i += width)
    sum += rows[i];
  return sum / static_cast<double>(rows.size() / width);
}

double variance_of(const std::vector<float>& rows, std::size_t component) {
  const auto mean = mean_of(rows, component);
  double sum = 0;
  for (auto i = component; i < rows.size(); i += width)
    sum += (rows[i] - mean) * (rows[i] - mean);
  return sum / static_cast<double>(rows.size() / width);
}

template <class T>
T after_a_round_trip(const T& value) {
  std::stringstream stream;
  boost::archive::binary_oarchive(stream) << value;
  T result;
  boost::archive::binary_iarchive(stream) >> result;
  return result;
}

TEST(RunningMomentsTest, are_those_of_two_passes) {
  const auto rows = random_rows(1000, 1);
  RunningMoments moments(width);
  moments.add(rows);
  EXPECT_EQ(moments.count(), 1000);
  for (std::size_t i = 0; i < width; ++i) {
    EXPECT_NEAR(moments.mean()[i] / mean_of(rows, i), 1, rounding);
    EXPECT_NEAR(moments.variance(i) / variance_of(rows, i), 1, rounding);
  }
}

TEST(RunningMomentsTest, merged_parts_equal_all_at_once) {
  const auto rows = random_rows(1000, 2);
  const std::span<const float> all(rows);
  RunningMoments merged(width);
  std::size_t from = 0;
  for (std::size_t count : {1, 0, 400, 99, 500}) {
    RunningMoments part(width);
    part.add(all.subspan(from * width, count * width));
    merged.merge(part);
    from += count;
  }
  EXPECT_EQ(merged.count(), 1000);
  for (std::size_t i = 0; i < width; ++i) {
    EXPECT_NEAR(merged.mean()[i] / mean_of(rows, i), 1, rounding);
    EXPECT_NEAR(merged.variance(i) / variance_of(rows, i), 1, rounding);
  }
}

TEST(RunningMomentsTest, keep_their_digits_far_from_zero) {
  std::vector<double> numbers;
  for (int i = 0; i < 1000; ++i)
    numbers.push_back(1e9 + i % 2);
  RunningMoments moments(1);
  moments.add(numbers);
  EXPECT_NEAR(moments.variance(0), 0.25, 1e-9);
}

TEST(RunningMomentsTest, leave_out_rows_that_are_not_valid) {
  const auto rows = random_rows(3, 3);
  RunningMoments some(width);
  auto broken = rows;
  broken[4] = std::numeric_limits<float>::quiet_NaN();
  some.add(broken, std::vector<std::uint8_t>{1, 0, 1});
  RunningMoments other(width);
  other.add(std::span(rows).first(width));
  other.add(std::span(rows).last(width));
  EXPECT_EQ(some, other);
}

TEST(RunningMomentsTest, have_variance_1_before_two_rows) {
  RunningMoments moments(width);
  EXPECT_EQ(moments.variance(0), 1);
  moments.add(random_rows(1, 4));
  EXPECT_EQ(moments.variance(0), 1);
}

TEST(RunningMomentsTest, refuse_bad_rows_and_stay_as_they_were) {
  RunningMoments moments(width);
  const std::vector<float> rows = {1, 2, 3, 4, std::numeric_limits<float>::infinity(), 6};
  try {
    moments.add(rows);
    FAIL();
  } catch (const std::domain_error& error) {
    EXPECT_NE(std::string(error.what()).find("row 1 "), std::string::npos)
      << error.what();
  }
  EXPECT_EQ(moments.count(), 0);
  EXPECT_THROW(moments.add(std::vector<float>(4)), std::invalid_argument);
  EXPECT_THROW(moments.merge(RunningMoments(2)), std::invalid_argument);
}

TEST(ObservationNormaliserTest, gives_mean_0_and_variance_1) {
  auto rows = random_rows(2000, 5);
  ObservationNormaliser normaliser(width);
  normaliser.update(rows);
  normaliser.apply(rows);
  for (std::size_t i = 0; i < width; ++i) {
    EXPECT_NEAR(mean_of(rows, i), 0, 1e-6);
    EXPECT_NEAR(variance_of(rows, i), 1, 1e-5);
  }
}

TEST(ObservationNormaliserTest, limits_what_is_far_away) {
  ObservationNormaliser normaliser(1, 5);
  normaliser.update(std::vector<float>{-1, 1});
  std::vector<float> rows = {100, -100, 1};
  normaliser.apply(rows);
  EXPECT_EQ(rows[0], 5);
  EXPECT_EQ(rows[1], -5);
  EXPECT_NEAR(rows[2], 1, 1e-6);
}

TEST(ObservationNormaliserTest, a_frozen_copy_learns_nothing_more) {
  ObservationNormaliser normaliser(width);
  normaliser.update(random_rows(100, 6));
  const auto frozen = normaliser.frozen();
  auto before = random_rows(1, 7);
  auto after = before, changed = before;
  frozen.apply(before);
  normaliser.update(random_rows(100, 8));
  frozen.apply(after);
  normaliser.apply(changed);
  EXPECT_EQ(before, after);
  EXPECT_NE(before, changed);
}

TEST(ObservationNormaliserTest, one_that_was_made_from_nothing_changes_nothing) {
  auto rows = random_rows(2, 9);
  const auto before = rows;
  FrozenNormaliser().apply(rows);
  EXPECT_EQ(rows, before);
  ObservationNormaliser normaliser(width);
  EXPECT_THROW(normaliser.apply(std::span(rows).first(2)), std::invalid_argument);
}

TEST(ObservationNormaliserTest, goes_on_after_being_saved) {
  ObservationNormaliser normaliser(width);
  normaliser.update(random_rows(10, 10));
  auto copy = after_a_round_trip(normaliser);
  EXPECT_EQ(copy, normaliser);
  EXPECT_EQ(after_a_round_trip(normaliser.frozen()), normaliser.frozen());
  copy.update(random_rows(10, 11));
  normaliser.update(random_rows(10, 11));
  EXPECT_EQ(copy, normaliser);
}

// A RewardNormaliser's rows, for two environments.
struct Rewards {
  std::vector<double> rewards;
  std::vector<std::uint8_t> terminated = {0, 0}, truncated = {0, 0}, valid = {1, 1};
  std::vector<int> ids = {0, 1};

  std::vector<double> through(RewardNormaliser& normaliser) const {
    std::vector<double> out(rewards.size());
    normaliser.apply(rewards, terminated, truncated, valid, ids, out);
    return out;
  }
};

TEST(RewardNormaliserTest, divides_by_the_deviation_of_each_environments_return) {
  RewardNormaliser normaliser(2, 0.5);
  Rewards{.rewards = {1, 2}, .truncated = {0, 1}}.through(normaliser);
  // Returns so far 1 and 2; then 0.5 + 3, and 4, because environment 1 began anew.
  const auto out = Rewards{.rewards = {4, 3}, .ids = {1, 0}}.through(normaliser);
  RunningMoments returns(1);
  returns.add(std::vector<double>{1, 2, 4, 3.5});
  const auto deviation = std::sqrt(returns.variance(0));
  EXPECT_NEAR(out[0], 4 / deviation, 1e-7);
  EXPECT_NEAR(out[1], 3 / deviation, 1e-7);
  EXPECT_EQ(after_a_round_trip(normaliser), normaliser);
}

TEST(RewardNormaliserTest, limits_the_result) {
  RewardNormaliser normaliser(2, 0.5, 1.5);
  EXPECT_EQ((Rewards{.rewards = {0, 0.5}}.through(normaliser)),
            (std::vector<double>{0, 1.5}));
}

TEST(RewardNormaliserTest, a_lost_row_counts_nothing_and_begins_anew) {
  RewardNormaliser normaliser(2, 0.5);
  Rewards{.rewards = {1, 2}}.through(normaliser);
  const auto nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ((Rewards{.rewards = {3, nan}, .valid = {1, 0}}.through(normaliser)[1]), 0);
  EXPECT_EQ(normaliser.moments().count(), 3);
  Rewards{.rewards = {0, 8}}.through(normaliser);
  RunningMoments returns(1);
  returns.add(std::vector<double>{1, 2, 3.5, 1.75, 8});
  EXPECT_EQ(normaliser.moments(), returns);
}

TEST(RewardNormaliserTest, ends_all_episodes) {
  RewardNormaliser normaliser(2, 0.5);
  Rewards{.rewards = {1, 2}}.through(normaliser);
  normaliser.end_episodes();
  Rewards{.rewards = {3, 5}}.through(normaliser);
  RunningMoments returns(1);
  returns.add(std::vector<double>{1, 2, 3, 5});
  EXPECT_EQ(normaliser.moments(), returns);
}

TEST(RewardNormaliserTest, names_what_is_wrong) {
  RewardNormaliser normaliser(2);
  EXPECT_THROW((Rewards{.rewards = {1, 2}, .ids = {0, 2}}.through(normaliser)),
               std::invalid_argument);
  EXPECT_THROW((Rewards{.rewards = {1, 2}, .valid = {1}}.through(normaliser)),
               std::invalid_argument);
  const auto nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW((Rewards{.rewards = {1, nan}}.through(normaliser)), std::domain_error);
}

} // namespace
} // namespace fiber::rl
