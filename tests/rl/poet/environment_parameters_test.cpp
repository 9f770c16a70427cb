// SPDX-License-Identifier: Apache-2.0
// Environments mutate in small steps within limits, differ by their distance, and become
// the terrains that their parameters say.

#include "rl/poet/environment_parameters.hpp"

#include <cmath>
#include <set>
#include <stdexcept>

#include <gtest/gtest.h>

namespace fiber::rl::poet {
namespace {

EnvironmentParameters with_everything() {
  EnvironmentParameters all;
  all.roughness = 1.2;
  all.pit_gap = {0.4, 1.2};
  all.stump_height = {0.2, 0.6};
  all.stair_height = {0, 0.4};
  all.stair_steps = 2;
  return all;
}

/// Many generations, each child the parent of the next.
template <class Check>
void evolve(std::vector<std::string> genes, int generations, Check check) {
  Random random(1);
  EnvironmentParameters parent;
  for (int i = 0; i < generations; ++i) {
    const auto child = mutated(parent, genes, random);
    check(parent, child);
    parent = child;
  }
}

void expect_step(const Interval& from, const Interval& to, double step, double most) {
  EXPECT_LE(0, to.least);
  EXPECT_LE(to.least, to.most);
  EXPECT_LE(to.most, most);
  if (from.most > 0) {
    EXPECT_LE(std::abs(to.least - from.least), step + 1e-9);
    EXPECT_LE(std::abs(to.most - from.most), step + 1e-9);
    EXPECT_GT(to.most, 0) << "an obstacle stays once it is there";
  }
}

TEST(EnvironmentParametersTest, a_mutation_moves_each_bound_by_a_step_at_most) {
  evolve(default_genes(), 3000, [](const auto& parent, const auto& child) {
    EXPECT_LE(0, child.roughness);
    EXPECT_LE(child.roughness, 10);
    EXPECT_LE(std::abs(child.roughness - parent.roughness), 0.6 + 1e-9);
    expect_step(parent.pit_gap, child.pit_gap, 0.4, 10);
    expect_step(parent.stump_height, child.stump_height, 0.2, 5);
    expect_step(parent.stair_height, child.stair_height, 0.2, 5);
    EXPECT_LE(1, child.stair_steps);
    EXPECT_LE(child.stair_steps, 9);
    EXPECT_LE(std::abs(child.stair_steps - parent.stair_steps), 1);
  });
}

TEST(EnvironmentParametersTest, an_obstacle_begins_with_its_initial_size) {
  std::set<std::string> seen;
  evolve(default_genes(), 50, [&](const auto& parent, const auto& child) {
    const auto begins = [&](const char* name, const Interval& from, const Interval& to,
                            const Interval& initial) {
      if (from.most == 0 && to.most > 0) {
        EXPECT_EQ(to, initial) << name;
        seen.insert(name);
      }
    };
    begins("pit", parent.pit_gap, child.pit_gap, {0, 0.8});
    begins("stump", parent.stump_height, child.stump_height, {0, 0.4});
    begins("stair", parent.stair_height, child.stair_height, {0, 0.4});
  });
  EXPECT_EQ(seen, (std::set<std::string>{"pit", "stair", "stump"}));
}

TEST(EnvironmentParametersTest, only_the_genes_that_may_change_do) {
  evolve({"pit"}, 200, [](const auto& parent, const auto& child) {
    auto rest = child;
    rest.pit_gap = parent.pit_gap;
    EXPECT_EQ(rest, parent);
    EXPECT_NE(child, parent);
  });
  evolve({"stump", "stump-width", "stump-float"}, 200,
         [](const auto&, const auto& child) {
           EXPECT_EQ(child.roughness, 0);
           EXPECT_EQ(child.pit_gap, Interval{});
           EXPECT_GE(child.stump_width.least, 1);
           EXPECT_LE(child.stump_width.most, 5);
           EXPECT_LE(child.stump_float.most, 3);
         });
}

TEST(EnvironmentParametersTest, every_mutation_makes_a_terrain) {
  const std::vector<std::string> all(gene_names.begin(), gene_names.end());
  evolve(all, 500, [](const auto&, const auto& child) {
    const auto terrain = make_terrain(terrain_options(child), 3);
    EXPECT_EQ(terrain.heights.size(), Terrain::points);
  });
}

TEST(EnvironmentParametersTest, unknown_genes_are_refused_by_name) {
  Random random(1);
  const std::vector<std::string> wrong = {"roughness", "holes"};
  try {
    mutated({}, wrong, random);
    FAIL() << "accepted";
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find("\"holes\""), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("roughness, pit, stump"), std::string::npos);
  }
  EXPECT_THROW(mutated({}, {}, random), std::invalid_argument);
}

TEST(EnvironmentParametersTest, stumps_may_hang_above_the_ground) {
  EnvironmentParameters parameters;
  parameters.stump_height = {1, 1};
  auto stands = terrain_options(parameters);
  const auto low = make_terrain(stands, 5);
  parameters.stump_float = {2, 2};
  const auto high = make_terrain(terrain_options(parameters), 5);
  ASSERT_FALSE(high.boxes.empty());
  EXPECT_NEAR(high.boxes[0].bottom - low.boxes[0].bottom, 2 * Terrain::spacing, 1e-9);
  EXPECT_NEAR(high.boxes[0].top - high.boxes[0].bottom, Terrain::spacing, 1e-9);
}

TEST(EnvironmentParametersTest, a_step_of_any_gene_is_a_distance_of_1) {
  const auto origin = with_everything();
  auto other = origin;
  EXPECT_EQ(distance(origin, other), 0);
  other.pit_gap.most += 0.4;
  EXPECT_NEAR(distance(origin, other), 1, 1e-9);
  other.roughness += 0.6;
  EXPECT_NEAR(distance(origin, other), std::sqrt(2), 1e-9);
  EXPECT_EQ(distance(origin, other), distance(other, origin));
}

TEST(EnvironmentParametersTest, novelty_is_the_mean_distance_to_the_nearest) {
  std::vector<EnvironmentParameters> archive(8);
  for (std::size_t i = 0; i < archive.size(); ++i)
    archive[i].stair_steps = static_cast<double>(1 + i); // Distances 0 to 7 from flat.
  EXPECT_NEAR(novelty({}, archive, 5), (0 + 1 + 2 + 3 + 4) / 5.0, 1e-9);
  EXPECT_NEAR(novelty({}, archive, 1), 0, 1e-9);
  EXPECT_NEAR(novelty({}, archive, 100), 28 / 8.0, 1e-9);
  EXPECT_EQ(novelty({}, {}, 5), 0);
}

TEST(EnvironmentParametersTest, the_description_names_what_occurs) {
  EXPECT_EQ(describe({}), "flat");
  EXPECT_EQ(describe(with_everything()),
            "roughness 1.2, pits 0.4-1.2, stumps 0.2-0.6, stairs 0-0.4 x2");
}

} // namespace
} // namespace fiber::rl::poet
