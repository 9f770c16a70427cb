// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fiber/rl/random.hpp"
#include "fiber/rl/terrain.hpp"

namespace fiber::rl::poet {

/// The sizes of an obstacle lie in this range.
struct Interval {
  double least = 0, most = 0;

  friend bool operator==(const Interval&, const Interval&) = default;

  template <class Archive>
  void serialize(Archive& archive, unsigned) {
    archive& least& most;
  }
};

/// What POET evolves: the kind of terrain that a walker walks on. Lengths are in units of
/// Terrain::spacing, 0.47 m. The default is flat ground without obstacles. An obstacle
/// occurs if the most that it may measure is above 0.
struct EnvironmentParameters {
  double roughness = 0;
  Interval pit_gap;
  Interval stump_height;
  Interval stump_width{1, 2};
  Interval stump_float; ///< How high stumps hang above the ground.
  Interval stair_height;
  Interval stair_width{4, 5}; ///< Of a step.
  double stair_steps = 1;     ///< Steps of a stair.

  friend bool operator==(const EnvironmentParameters&,
                         const EnvironmentParameters&) = default;

  template <class Archive>
  void serialize(Archive& archive, unsigned) {
    archive& roughness& pit_gap& stump_height& stump_width& stump_float& stair_height&
      stair_width& stair_steps;
  }
};

/// What mutation may change: one word each. `stair` is the height and the number of
/// steps. The paper evolves the first four, as default_genes().
inline constexpr std::array<std::string_view, 7> gene_names = {
  "roughness", "pit", "stump", "stair", "stump-width", "stump-float", "stair-width"};
std::vector<std::string> default_genes();

/// A mutated copy. Each of the parameters that `genes` allows changes with a probability
/// of 1/2, but at least one is chosen. A parameter of an obstacle that does not occur
/// gets its initial value; otherwise each bound moves by a step down, not at all or by a
/// step up, at least one of them, within the limits. docs/rl/poet.md has the table.
/// Throws std::invalid_argument for an unknown gene, and if there is none.
EnvironmentParameters mutated(const EnvironmentParameters& parent,
                              std::span<const std::string> genes, Random& random);

/// The terrain of these parameters, for BipedalWalker and make_terrain().
TerrainOptions terrain_options(const EnvironmentParameters& parameters);

/// In words, in one line: "roughness 0.6, pits 0-0.8, stumps 0-0.4".
std::string describe(const EnvironmentParameters& parameters);

/// The Euclidean distance, where a step of mutation is 1 in each component.
double distance(const EnvironmentParameters& one, const EnvironmentParameters& other);

/// The mean distance to the `neighbours` nearest of the archive, or to all of a smaller
/// one. 0 for an empty archive.
double novelty(const EnvironmentParameters& parameters,
               std::span<const EnvironmentParameters> archive, std::size_t neighbours);

} // namespace fiber::rl::poet
