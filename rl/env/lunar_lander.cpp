// SPDX-License-Identifier: Apache-2.0
#include "fiber/rl/lunar_lander.hpp"

#include <stdexcept>
#include <string>

#include "fiber/rl/random.hpp"
#include "rl/env/lunar_lander_world.hpp"

namespace fiber::rl {
namespace lander {
namespace {

Start random_start(Random& random) {
  Start start;
  for (auto& height : start.heights)
    height = random.uniform(0, highest_hill);
  start.force_x = random.uniform(-start_force, start_force);
  start.force_y = random.uniform(-start_force, start_force);
  return start;
}

} // namespace
} // namespace lander

struct LunarLander::Episode {
  explicit Episode(std::uint64_t seed)
    : random(seed), world(lander::random_start(random)) {}

  Random random;
  lander::World world;
  int steps = 0;
};

LunarLander::LunarLander() = default;
LunarLander::LunarLander(LunarLander&&) noexcept = default;
LunarLander& LunarLander::operator=(LunarLander&&) noexcept = default;
LunarLander::~LunarLander() = default;

void LunarLander::reset(std::uint64_t seed) {
  episode_ = std::make_unique<Episode>(seed);
}

Step LunarLander::step(Action action) {
  if (action < 0 || action >= actions)
    throw std::invalid_argument("LunarLander has no action " + std::to_string(action) +
                                "; there are 0 to 3");
  if (!episode_)
    throw std::logic_error("LunarLander: step() before the first reset()");
  const double first = episode_->random.uniform(-1, 1);
  const double second = episode_->random.uniform(-1, 1);
  auto result = episode_->world.step(action, {first, second});
  result.truncated = ++episode_->steps >= step_limit;
  return result;
}

void LunarLander::observe(std::span<float> out) const {
  if (!episode_)
    throw std::logic_error("LunarLander: observe() before the first reset()");
  episode_->world.observe(out);
}

Image LunarLander::render() const {
  if (!episode_)
    throw std::logic_error("LunarLander: render() before the first reset()");
  return episode_->world.render();
}

} // namespace fiber::rl
