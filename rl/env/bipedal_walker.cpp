// SPDX-License-Identifier: Apache-2.0
#include "fiber/rl/bipedal_walker.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>

#include "fiber/rl/random.hpp"
#include "rl/env/bipedal_walker_world.hpp"

namespace fiber::rl {
namespace walker {
namespace {

void check(const Terrain& terrain) {
  if (terrain.heights.size() != Terrain::points)
    throw std::invalid_argument("a terrain has " + std::to_string(Terrain::points) +
                                " heights, not " +
                                std::to_string(terrain.heights.size()));
  for (const double height : terrain.heights)
    if (!std::isfinite(height))
      throw std::invalid_argument("a terrain has a height that is not finite");
  for (const auto& box : terrain.boxes)
    if (const double wide = box.right - box.left, high = box.top - box.bottom;
        !(wide >= 0.01 && high >= 0.01 && std::isfinite(wide) && std::isfinite(high)))
      throw std::invalid_argument("a terrain has a box that is less than 1 cm wide or "
                                  "high, or not finite");
}

} // namespace
} // namespace walker

struct BipedalWalker::Impl {
  TerrainOptions options;
  Terrain terrain;
  bool fixed = false; ///< The terrain is the same each episode.
  int step_limit = 0;
  std::unique_ptr<walker::World> world;
  int steps = 0;

  walker::World& started(const char* function) const {
    if (!world)
      throw std::logic_error(std::string("BipedalWalker: ") + function +
                             "() before the first reset()");
    return *world;
  }
};

BipedalWalker::BipedalWalker(const TerrainOptions& options, int limit)
  : impl_(std::make_unique<Impl>()) {
  make_terrain(options, 0); // Throws.
  impl_->options = options;
  impl_->step_limit = limit;
}

BipedalWalker::BipedalWalker(Terrain terrain, int limit)
  : impl_(std::make_unique<Impl>()) {
  walker::check(terrain);
  impl_->terrain = std::move(terrain);
  impl_->fixed = true;
  impl_->step_limit = limit;
}

BipedalWalker::BipedalWalker(BipedalWalker&&) noexcept = default;
BipedalWalker& BipedalWalker::operator=(BipedalWalker&&) noexcept = default;
BipedalWalker::~BipedalWalker() = default;

void BipedalWalker::reset(std::uint64_t seed) {
  Random random(seed);
  const double push = random.uniform(-walker::start_push, walker::start_push);
  if (!impl_->fixed)
    impl_->terrain = make_terrain(impl_->options, random.next());
  impl_->world = std::make_unique<walker::World>(impl_->terrain, push);
  impl_->steps = 0;
}

Step BipedalWalker::step(Action action) {
  auto& world = impl_->started("step");
  if (std::ranges::any_of(action, [](float torque) { return std::isnan(torque); }))
    throw std::invalid_argument("BipedalWalker: a torque is not a number");
  auto result = world.step(action);
  result.truncated = ++impl_->steps >= impl_->step_limit;
  return result;
}

void BipedalWalker::observe(std::span<float> out) const {
  impl_->started("observe").observe(out);
}

Image BipedalWalker::render() const {
  return impl_->started("render").render();
}

std::array<double, 2> BipedalWalker::position() const {
  return impl_->started("position").position();
}

const Terrain& BipedalWalker::terrain() const {
  impl_->started("terrain");
  return impl_->terrain;
}

} // namespace fiber::rl
