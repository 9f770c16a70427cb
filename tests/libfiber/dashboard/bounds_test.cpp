// SPDX-License-Identifier: Apache-2.0
// The promise: what a session keeps for its page has bounds, and says what it leaves out.
#include <cmath>
#include <limits>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "actors/roster/task_stream.hpp"
#include "libfiber/observer/series_store.hpp"

namespace fiber {
namespace {

using actors::StreamSpan;
using actors::TaskStream;
using observer::SeriesStore;

TEST(SeriesBounds, a_long_series_is_thinned_to_means_and_says_so) {
  SeriesStore store;
  auto start = SeriesStore::Clock::now();
  constexpr int values = 10'000;
  for (int i = 0; i < values; ++i)
    EXPECT_TRUE(store.add("loss", i));
  std::uint64_t refused = 0;
  auto series = store.list(start, refused).at(0);
  EXPECT_EQ(series.at("values"), values);
  EXPECT_EQ(series.at("last"), values - 1);
  auto& points = series.at("points");
  EXPECT_LE(points.size(), SeriesStore::max_points);
  EXPECT_GE(points.size(), SeriesStore::max_points / 4);
  auto each = series.at("values_in_a_point").get<double>();
  EXPECT_EQ(each, 32);
  EXPECT_EQ(points.at(0).at(1), (each - 1) / 2);
  EXPECT_EQ(points.at(1).at(1), each + (each - 1) / 2);
  EXPECT_EQ(refused, 0u);
}

TEST(SeriesBounds, further_series_are_left_out_and_counted) {
  SeriesStore store;
  for (std::size_t i = 0; i < SeriesStore::max_series; ++i)
    EXPECT_TRUE(store.add("s" + std::to_string(i), 1));
  EXPECT_FALSE(store.add("one more", 1));
  EXPECT_TRUE(store.add("s0", 2));
  std::uint64_t refused = 0;
  EXPECT_EQ(store.list({}, refused).size(), SeriesStore::max_series);
  EXPECT_EQ(refused, 1u);
}

TEST(SeriesBounds, what_is_no_number_is_null) {
  SeriesStore store;
  store.add("return", std::nan(""));
  store.add("return", std::numeric_limits<double>::infinity());
  std::uint64_t refused = 0;
  auto series = store.list({}, refused).at(0);
  EXPECT_TRUE(series.at("points").at(0).at(1).is_null());
  EXPECT_TRUE(series.at("last").is_null());
}

StreamSpan span_at(StreamSpan::Time at, StreamSpan::Outcome outcome) {
  StreamSpan span;
  span.pool = "pool1";
  span.tasks = 3;
  span.outcome = outcome;
  span.from = span.to = at;
  return span;
}

TEST(StreamBounds, a_flood_is_left_out_but_its_failures_are_not) {
  TaskStream stream;
  auto now = StreamSpan::Time(std::chrono::hours(1));
  constexpr std::uint64_t flood = 5000, kept = TaskStream::max_at_once;
  for (std::uint64_t i = 0; i < flood; ++i)
    stream.add(span_at(now, StreamSpan::Outcome::value));
  stream.add(span_at(now, StreamSpan::Outcome::failed));
  auto piece = stream.since(0);
  EXPECT_EQ(piece.spans.size(), kept + 1);
  EXPECT_EQ(piece.left_out, 3 * (flood - kept));
  EXPECT_EQ(piece.spans.back().outcome, StreamSpan::Outcome::failed);
  stream.add(span_at(now + std::chrono::seconds(1), StreamSpan::Outcome::value));
  EXPECT_EQ(stream.since(piece.next).spans.size(), 1u);
}

TEST(StreamBounds, the_last_spans_are_kept_and_the_others_counted) {
  TaskStream stream;
  for (std::size_t i = 0; i < TaskStream::max_kept + 10; ++i)
    stream.add(span_at({}, StreamSpan::Outcome::lost));
  auto piece = stream.since(0);
  EXPECT_EQ(piece.spans.size(), TaskStream::max_kept);
  EXPECT_EQ(piece.first, 10u);
  EXPECT_EQ(piece.dropped, 30u);
  EXPECT_TRUE(stream.since(piece.next).spans.empty());
}

} // namespace
} // namespace fiber
