// SPDX-License-Identifier: Apache-2.0
// An archive keeps the best of each cell; a search fills it, and is the same whenever it
// is run again.

#include "fiber/rl/map_elites.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <stdexcept>

#include <gtest/gtest.h>
#include <unistd.h>

#include "fiber/rl/plot.hpp"

namespace fiber::rl {
namespace {

using Axes = std::vector<GridAxis>;
using Change = GridArchive::Change;
using Emitter = MapElitesOptions::Emitter;

struct GridArchiveTest : testing::Test {
  GridArchive archive{
    {{.cells = 4, .low = 0, .high = 4}, {.cells = 2, .low = -1, .high = 1}}};
};

TEST_F(GridArchiveTest, keeps_the_best_of_each_cell) {
  const auto first = archive.add({1}, {.objective = 5, .measures = {0.5, -0.5}});
  EXPECT_EQ(first.change, Change::added);
  EXPECT_EQ(first.gain, 5);
  const auto worse = archive.add({2}, {.objective = 3, .measures = {0.9, -0.1}});
  EXPECT_EQ(worse.change, Change::none);
  EXPECT_EQ(worse.gain, -2);
  const auto equal = archive.add({3}, {.objective = 5, .measures = {0.9, -0.1}});
  EXPECT_EQ(equal.change, Change::none);
  const auto better = archive.add({4}, {.objective = 6, .measures = {0.1, -0.9}});
  EXPECT_EQ(better.change, Change::improved);
  EXPECT_EQ(better.gain, 1);
  ASSERT_EQ(archive.elites().size(), 1U);
  EXPECT_EQ(archive.elites().at(0).parameters, std::vector<double>{4});
}

TEST_F(GridArchiveTest, counts_what_is_beyond_the_bounds_to_the_outermost_cells) {
  archive.add({1}, {.objective = 0, .measures = {-7, -7}});
  archive.add({2}, {.objective = 0, .measures = {4, 1}});
  archive.add({3}, {.objective = 0, .measures = {1e300, 0}});
  ASSERT_EQ(archive.elites().size(), 2U);
  EXPECT_EQ(archive.elites().begin()->first, 0U);
  EXPECT_EQ(archive.elites().rbegin()->first, 7U);
}

TEST_F(GridArchiveTest, says_how_full_and_how_good_it_is) {
  EXPECT_THROW(archive.best(), std::out_of_range);
  archive.add({1}, {.objective = -10, .measures = {0, 0}});
  archive.add({2}, {.objective = 30, .measures = {3, 0}});
  EXPECT_EQ(archive.cells(), 8U);
  EXPECT_EQ(archive.coverage(), 0.25);
  EXPECT_EQ(archive.qd_score(-100), 90 + 130);
  EXPECT_EQ(archive.best().parameters, std::vector<double>{2});
}

TEST_F(GridArchiveTest, refuses_what_has_no_cell) {
  EXPECT_THROW(archive.add({1}, {.objective = 0, .measures = {1}}),
               std::invalid_argument);
  EXPECT_THROW(archive.add({1}, {.objective = NAN, .measures = {1, 0}}),
               std::invalid_argument);
  EXPECT_THROW(archive.add({1}, {.objective = 0, .measures = {1, INFINITY}}),
               std::invalid_argument);
  EXPECT_TRUE(archive.elites().empty());
  EXPECT_THROW(GridArchive(Axes{}), std::invalid_argument);
  EXPECT_THROW(GridArchive(Axes{{.cells = 0}}), std::invalid_argument);
  EXPECT_THROW(GridArchive(Axes{{.cells = 5, .low = 1, .high = 1}}),
               std::invalid_argument);
}

/// A hill of 10 variables; the sums of the halves are the measures.
Behaviour hill(const std::vector<double>& x) {
  Behaviour result{.objective = 0, .measures = {0, 0}};
  for (std::size_t i = 0; i < x.size(); ++i) {
    result.objective -= x[i] * x[i];
    result.measures[i % 2] += std::clamp(x[i], -2.0, 2.0);
  }
  return result;
}

struct MapElitesTest : testing::Test {
  MapElitesOptions options{.axes = {{.cells = 30, .low = -10, .high = 10},
                                    {.cells = 30, .low = -10, .high = 10}},
                           .emitters = 3,
                           .batch = 20,
                           .sigma = 0.5};

  static void steps(MapElites& search, int count) {
    for (; count > 0; --count) {
      std::vector<Behaviour> results;
      for (const auto& x : search.ask())
        results.push_back(hill(x));
      search.tell(results);
    }
  }
  MapElites begun() const { return {std::vector<double>(10), options, 3}; }
};

TEST_F(MapElitesTest, cma_me_fills_more_cells_than_noise_does) {
  auto cma_me = begun();
  steps(cma_me, 150);
  options.emitter = Emitter::gaussian;
  auto map_elites = begun();
  steps(map_elites, 150);
  EXPECT_GT(map_elites.archive().coverage(), 0.2);
  EXPECT_GT(cma_me.archive().coverage(), 0.5);
  EXPECT_GT(cma_me.archive().coverage(), map_elites.archive().coverage());
  EXPECT_GT(cma_me.archive().best().behaviour.objective, -0.5);
  const auto restarts = cma_me.state().restarts;
  EXPECT_EQ(restarts.size(), 3U);
}

TEST_F(MapElitesTest, a_run_cut_and_resumed_ends_as_one_that_was_not) {
  for (const auto emitter : {Emitter::improvement, Emitter::gaussian}) {
    options.emitter = emitter;
    auto whole = begun(), first = begun();
    steps(whole, 40);
    steps(first, 25);
    MapElites second(std::vector<double>(10), options, 3, first.state());
    steps(second, 15);
    EXPECT_EQ(second.iteration(), 40U);
    EXPECT_EQ(second.ask(), whole.ask());
    EXPECT_EQ(second.archive().qd_score(-1000), whole.archive().qd_score(-1000));
  }
}

TEST_F(MapElitesTest, an_emitter_that_finds_nothing_begins_anew_at_an_elite) {
  auto search = begun();
  steps(search, 1);
  // Nothing is better than what is there.
  const Behaviour bad{.objective = -1e9,
                      .measures = search.archive().best().behaviour.measures};
  search.tell(std::vector<Behaviour>(60, bad));
  EXPECT_EQ(search.state().restarts, (std::vector<std::uint64_t>{1, 1, 1}));
  for (const auto& state : search.state().searches) {
    EXPECT_EQ(state.generation, 0U);
    EXPECT_TRUE(std::ranges::any_of(search.archive().elites(), [&](const auto& entry) {
      return entry.second.parameters == state.mean;
    }));
  }
}

TEST_F(MapElitesTest, refuses_results_that_do_not_fit_and_lives_on) {
  auto search = begun();
  EXPECT_THROW(search.tell({}), std::invalid_argument);
  std::vector<Behaviour> results(60, {.objective = 1, .measures = {0, 0}});
  results[59].objective = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(search.tell(results), std::invalid_argument);
  EXPECT_TRUE(search.archive().elites().empty());
  EXPECT_EQ(search.iteration(), 0U);
  options.batch = 3;
  EXPECT_THROW(begun(), std::invalid_argument);
}

TEST_F(GridArchiveTest, is_drawn) {
  const auto folder =
    std::filesystem::path(testing::TempDir()) / ("archive-" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  archive.add({1}, {.objective = 5, .measures = {0.5, -0.5}});
  archive.add({1}, {.objective = -5, .measures = {3.5, 0.5}});
  EXPECT_TRUE(draw_archive(folder / "archive.png", archive, {.title = "An archive"}));
  EXPECT_GT(std::filesystem::file_size(folder / "archive.png"), 1000U);
  EXPECT_THROW(draw_archive(folder / "a.png", GridArchive(Axes{{.cells = 3}}), {}),
               std::invalid_argument);
  std::filesystem::remove_all(folder);
}

} // namespace
} // namespace fiber::rl
