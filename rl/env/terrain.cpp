// SPDX-License-Identifier: Apache-2.0
#include "fiber/rl/terrain.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>

#include "fiber/rl/random.hpp"

namespace fiber::rl {
namespace terrain {
namespace {

constexpr double unit = Terrain::spacing;
constexpr double start_height = 400.0 / 30 / 4;
constexpr int start_points = 20; // Flat, and without obstacles.
constexpr double slope_noise = 1.0 / 30;
constexpr double pit_depth = 4;
constexpr double smallest = 0.02; // Box2D takes smaller boxes for degenerate ones.

using Range = TerrainOptions::Range;

void check(const Range& range, const char* name, bool whole) {
  const auto fail = [name](const char* what) {
    throw std::invalid_argument(std::string("TerrainOptions: ") + name + what);
  };
  if (!(range.least >= 0 && range.least <= range.most && range.most <= Terrain::points))
    fail(" needs 0 <= least <= most <= 200");
  if (!(range.grain == 0 || (range.grain >= 1e-6 && std::isfinite(range.grain))))
    fail(" needs a grain of 0, or of 1e-6 or more");
  if (whole && (range.grain < 1 || std::floor(range.grain) != range.grain ||
                range.least < 1 || std::floor(range.least) != range.least))
    fail(" is a whole number from 1 on: its grain and least have to be, too");
}

void check(const TerrainOptions& options) {
  if (!(options.roughness >= 0 && std::isfinite(options.roughness)))
    throw std::invalid_argument("TerrainOptions: roughness is 0 or more");
  check(options.stump_height, "stump_height", false);
  check(options.stump_width, "stump_width", false);
  check(options.pit_width, "pit_width", false);
  check(options.step_height, "step_height", false);
  check(options.steps, "steps", true);
  check(options.step_width, "step_width", true);
  check(options.stump_float, "stump_float", false);
}

double draw(Random& random, const Range& range) {
  if (range.grain == 0)
    return random.uniform(range.least, range.most);
  // The small number forgives 0.3 / 0.1 for being below 3.
  const double grains = std::floor((range.most - range.least) / range.grain + 1e-9);
  return range.least + range.grain * static_cast<double>(random.below(
                                       static_cast<std::uint64_t>(grains) + 1));
}

/// Builds a terrain from the left to the right. Obstacles stand on the grid of points,
/// which is why a wall may be wider than 1.
class Builder {
public:
  Builder(const TerrainOptions& options, std::uint64_t seed)
    : options_(options), random_(seed) {
    if (options.stump_height.most > 0)
      obstacles_.push_back(&Builder::add_stump);
    if (options.step_height.most > 0)
      obstacles_.push_back(&Builder::add_stair);
    if (options.pit_width.most > 0)
      obstacles_.push_back(&Builder::add_pit);
  }

  Terrain build() {
    add_grass(start_points, false);
    while (terrain_.heights.size() < Terrain::points) {
      if (!obstacles_.empty())
        (this->*obstacles_[random_.below(obstacles_.size())])();
      add_grass(5 + static_cast<int>(random_.below(5)), true);
    }
    terrain_.heights.resize(Terrain::points);
    return std::move(terrain_);
  }

private:
  /// The slope is a random walk that is drawn back to the height of the start.
  void add_grass(int count, bool first_is_level) {
    for (int i = 0; i < count; ++i) {
      if (i > 0 || !first_is_level) {
        const double back = (start_height > y_) - (start_height < y_);
        slope_ = 0.8 * slope_ + 0.01 * back;
        if (terrain_.heights.size() > start_points)
          slope_ += options_.roughness * slope_noise * random_.uniform(-1, 1);
        y_ += slope_;
      }
      add_point(y_);
    }
  }

  void add_stump() {
    const double high = draw(random_, options_.stump_height);
    const double wide =
      options_.stump_width.most > 0 ? draw(random_, options_.stump_width) : high;
    const double free =
      options_.stump_float.most > 0 ? draw(random_, options_.stump_float) : 0;
    add_box(0, wide, y_, free + high, high);
    for (int i = 0; i < std::max(1, static_cast<int>(std::ceil(wide))); ++i)
      add_point(y_);
  }

  void add_stair() {
    const int side = random_.uniform() > 0.5 ? +1 : -1;
    const double high = side * draw(random_, options_.step_height);
    const int wide = static_cast<int>(draw(random_, options_.step_width));
    const int count = static_cast<int>(draw(random_, options_.steps));
    const double bottom = y_;
    for (int i = 0; i < count; ++i)
      add_box(i * wide, wide, bottom + i * high * unit, 0, std::max(1.0, std::abs(high)));
    add_point(bottom);
    for (int i = 1; i < count * wide; ++i)
      add_point(y_ = bottom + static_cast<double>(i - side) / wide * high * unit);
  }

  void add_pit() {
    const double free = draw(random_, options_.pit_width);
    const int points = static_cast<int>(std::ceil(free));
    add_box(0, 1, y_, 0, pit_depth);
    add_box(1 + free, points - free + 1, y_, 0, pit_depth);
    add_point(y_);
    for (int i = 0; i <= points; ++i)
      add_point(y_ - pit_depth * unit);
    add_point(y_);
  }

  void add_point(double y) { terrain_.heights.push_back(y); }

  /// `right` of the next point, with its top `above` the height `y` and `thick`. All but
  /// `y` are in units.
  void add_box(double right, double wide, double y, double above, double thick) {
    if (wide < smallest || thick < smallest)
      return;
    const double left = static_cast<double>(terrain_.heights.size()) + right;
    const double top = y + above * unit;
    terrain_.boxes.push_back({.left = left * unit,
                              .bottom = top - thick * unit,
                              .right = (left + wide) * unit,
                              .top = top});
  }

  const TerrainOptions& options_;
  Random random_;
  std::vector<void (Builder::*)()> obstacles_;
  Terrain terrain_;
  double y_ = start_height, slope_ = 0;
};

} // namespace
} // namespace terrain

TerrainOptions hardcore_terrain() {
  TerrainOptions options;
  options.stump_height = {1, 2, 1};
  options.pit_width = {2, 3, 1};
  options.step_height = {1, 1, 0};
  return options;
}

Terrain make_terrain(const TerrainOptions& options, std::uint64_t seed) {
  terrain::check(options);
  return terrain::Builder(options, seed).build();
}

} // namespace fiber::rl
