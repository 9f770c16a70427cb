// SPDX-License-Identifier: Apache-2.0
// A terrain has the obstacles that its options ask for, in the sizes they ask for, and
// follows from the options and the seed.

#include "fiber/rl/terrain.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include "tests/rl/env/recording.hpp"

namespace fiber::rl {
namespace {

constexpr std::uint64_t seeds = 50;
constexpr double start_height = 400.0 / 30 / 4;

/// In units, rounded to 1/1000.
double units(double metres) {
  return std::round(metres / Terrain::spacing * 1000) / 1000;
}

TEST(TerrainTest, is_level_at_the_start_and_uneven_after_it) {
  const auto terrain = make_terrain({}, 1);
  ASSERT_EQ(terrain.heights.size(), Terrain::points);
  EXPECT_TRUE(terrain.boxes.empty());
  for (std::size_t i = 0; i <= 20; ++i)
    EXPECT_EQ(terrain.heights[i], start_height);
  EXPECT_NE(terrain.heights[25], start_height);
  EXPECT_NE(make_terrain({}, 2), terrain);
  EXPECT_EQ(make_terrain({}, 1), terrain);
}

TEST(TerrainTest, is_flat_without_roughness) {
  TerrainOptions options;
  options.roughness = 0;
  for (const double height : make_terrain(options, 1).heights)
    EXPECT_EQ(height, start_height);
}

TEST(TerrainTest, stumps_stand_on_the_ground_and_have_the_sizes_asked_for) {
  TerrainOptions options;
  options.stump_height = {.least = 0.5, .most = 1.5, .grain = 0};
  options.stump_width = {.least = 1, .most = 3, .grain = 1};
  double least = 9, most = 0;
  std::set<double> widths;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    const auto terrain = make_terrain(options, seed);
    EXPECT_GT(terrain.boxes.size(), 10U);
    for (const auto& box : terrain.boxes) {
      const auto point = static_cast<std::size_t>(units(box.left));
      if (point < Terrain::points) {
        EXPECT_NEAR(box.bottom, terrain.heights[point], 1e-9);
      }
      EXPECT_GE(point, 20U);
      least = std::min(least, units(box.top - box.bottom));
      most = std::max(most, units(box.top - box.bottom));
      widths.insert(units(box.right - box.left));
    }
  }
  EXPECT_GE(least, 0.5);
  EXPECT_LT(least, 0.52);
  EXPECT_GT(most, 1.48);
  EXPECT_LE(most, 1.5);
  EXPECT_EQ(widths, (std::set<double>{1, 2, 3}));
}

TEST(TerrainTest, pits_have_the_free_width_asked_for_and_ground_four_below) {
  TerrainOptions options;
  options.roughness = 0;
  options.pit_width = {.least = 1.5, .most = 2.5, .grain = 0.5};
  std::set<double> widths;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    const auto terrain = make_terrain(options, seed);
    ASSERT_EQ(terrain.boxes.size() % 2, 0U);
    for (std::size_t i = 0; i < terrain.boxes.size(); i += 2) {
      const auto &left = terrain.boxes[i], &right = terrain.boxes[i + 1];
      widths.insert(units(right.left - left.right));
      EXPECT_EQ(left.top, right.top);
      // The ground rises again within the right wall.
      EXPECT_EQ(units(right.right), std::round(units(right.right)));
      if (const auto end = static_cast<std::size_t>(units(right.right));
          end < Terrain::points) {
        EXPECT_EQ(terrain.heights[end], right.top);
        EXPECT_EQ(units(right.top - terrain.heights[end - 1]), 4);
      }
    }
  }
  EXPECT_EQ(widths, (std::set<double>{1.5, 2, 2.5}));
}

TEST(TerrainTest, hard_terrain_has_gymnasiums_three_obstacles_equally_often) {
  int stumps = 0, pits = 0, stairs = 0;
  for (std::uint64_t seed = 0; seed < 10 * seeds; ++seed) {
    const auto boxes = make_terrain(hardcore_terrain(), seed).boxes;
    for (std::size_t i = 0; i < boxes.size(); ++i) {
      const double width = units(boxes[i].right - boxes[i].left);
      const double height = units(boxes[i].top - boxes[i].bottom);
      if (width == 4) {
        EXPECT_EQ(height, 1);
        if (i > 0 && units(boxes[i - 1].right) == units(boxes[i].left))
          EXPECT_EQ(units(std::abs(boxes[i].top - boxes[i - 1].top)),
                    1); // Its next step.
        else
          ++stairs;
      } else if (height == 4) {
        EXPECT_EQ(width, 1);
        const double free = units(boxes[i + 1].left - boxes[i].right);
        EXPECT_TRUE(free == 2 || free == 3) << free;
        ++pits;
        ++i;
      } else {
        EXPECT_TRUE(width == height && (width == 1 || width == 2)) << width;
        ++stumps;
      }
    }
  }
  const double third = (stumps + pits + stairs) / 3.0;
  EXPECT_NEAR(stumps, third, 0.1 * third);
  EXPECT_NEAR(pits, third, 0.1 * third);
  EXPECT_NEAR(stairs, third, 0.1 * third);
}

/// What record_box2d.py recorded of Gymnasium's terrains.
void expect_recorded_distributions(const std::string& name,
                                   const TerrainOptions& options) {
  const auto golden = recording::columns(name + "_terrain");
  std::vector<std::vector<double>> ours(4);
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    const auto terrain = make_terrain(options, seed);
    double squares = 0, area = 0;
    for (std::size_t i = 1; i < Terrain::points; ++i)
      squares += std::pow(terrain.heights[i] - terrain.heights[i - 1], 2);
    for (const auto& box : terrain.boxes)
      area += (box.right - box.left) * (box.top - box.bottom);
    ours[0].push_back(std::sqrt(squares / (Terrain::points - 1)));
    ours[1].push_back(terrain.heights.back());
    ours[2].push_back(static_cast<double>(terrain.boxes.size()));
    ours[3].push_back(area);
  }
  ASSERT_EQ(golden.size(), ours.size());
  for (std::size_t i = 0; i < ours.size(); ++i)
    EXPECT_LT(recording::difference(ours[i], golden[i]), 1) << name << ", column " << i;
}

TEST(TerrainTest, terrains_are_distributed_as_gymnasiums) {
  expect_recorded_distributions("bipedal_walker", {});
  expect_recorded_distributions("bipedal_walker_hardcore", hardcore_terrain());
}

TEST(TerrainTest, refuses_a_range_that_has_no_meaning) {
  TerrainOptions options;
  options.stump_height = {.least = 2, .most = 1, .grain = 0};
  try {
    make_terrain(options, 0);
    FAIL();
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(error.what(),
                 "TerrainOptions: stump_height needs 0 <= least <= most <= 200");
  }
  options = {};
  options.steps = {.least = 2.5, .most = 4, .grain = 1};
  EXPECT_THROW(make_terrain(options, 0), std::invalid_argument);
  options = {};
  options.roughness = -1;
  EXPECT_THROW(make_terrain(options, 0), std::invalid_argument);
}

} // namespace
} // namespace fiber::rl
