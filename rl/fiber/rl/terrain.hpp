// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace fiber::rl {

/// The ground that a walker walks on. Lengths are in metres; the walker is 1.6 m high.
struct Terrain {
  /// The ground is drawn through its height at x = 0, spacing, 2 x spacing and so on.
  static constexpr double spacing = 14.0 / 30;
  static constexpr std::size_t points = 200;

  /// Ground that sticks out: a stump, a stair, a wall of a pit.
  struct Box {
    double left = 0, bottom = 0, right = 0, top = 0;

    friend bool operator==(const Box&, const Box&) = default;

    template <class Archive>
    void serialize(Archive& archive, unsigned) {
      archive& left& bottom& right& top;
    }
  };

  std::vector<double> heights; ///< `points` of them. The walker starts at about 3.3.
  std::vector<Box> boxes;

  friend bool operator==(const Terrain&, const Terrain&) = default;

  template <class Archive>
  void serialize(Archive& archive, unsigned) {
    archive& heights& boxes;
  }
};

/// What kind of terrain a seed makes: the parameters that POET (Wang et al. 2019, "Paired
/// Open-Ended Trailblazer") evolves. Lengths are in units of Terrain::spacing. An
/// obstacle whose size has `most` = 0 does not occur. The other obstacles are equally
/// likely, with 5 to 9 points of ground between two of them.
struct TerrainOptions {
  /// A size is drawn uniformly from least to most; if `grain` is not 0, from least,
  /// least + grain, ..., most.
  struct Range {
    double least = 0, most = 0, grain = 0;

    friend bool operator==(const Range&, const Range&) = default;

    template <class Archive>
    void serialize(Archive& archive, unsigned) {
      archive& least& most& grain;
    }
  };

  /// How much the slope of the ground changes at each point; Gymnasium's is 1, 0 is flat.
  double roughness = 1;
  Range stump_height;
  /// If `most` is 0, a stump is as wide as it is high.
  Range stump_width;
  /// The free width between the two walls of a pit, which is 4 deep.
  Range pit_width;
  /// The height of each step of a stair. A stair goes up or down with the same
  /// probability.
  Range step_height;
  Range steps = {3, 4, 1};      ///< The number of steps of a stair. Grain 1, at least 1.
  Range step_width = {4, 4, 1}; ///< Grain 1, at least 1.
  /// How high a stump hangs above the ground. If `most` is 0, it stands on the ground.
  Range stump_float;

  friend bool operator==(const TerrainOptions&, const TerrainOptions&) = default;

  template <class Archive>
  void serialize(Archive& archive, unsigned) {
    archive& roughness& stump_height& stump_width& pit_width& step_height& steps&
      step_width& stump_float;
  }
};

/// The terrain of Gymnasium's hardcore walker: stumps 1 or 2 high, pits 2 or 3 wide,
/// stairs of 3 or 4 steps that are 1 high and 4 wide.
TerrainOptions hardcore_terrain();

/// A terrain of this kind. The same options and seed make the same one. Throws
/// std::invalid_argument for an invalid range.
Terrain make_terrain(const TerrainOptions& options, std::uint64_t seed);

} // namespace fiber::rl
