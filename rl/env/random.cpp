// SPDX-License-Identifier: Apache-2.0
#include "fiber/rl/random.hpp"

#include <cmath>
#include <numbers>

#include "fiber/rl/environment.hpp"

namespace fiber::rl {
namespace {

constexpr std::uint64_t golden_gamma = 0x9e3779b97f4a7c15;

// The finaliser of SplitMix64 (Steele, Lea and Flood 2014): a bijection that mixes every
// bit.
std::uint64_t mix(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

} // namespace

Random::Random(std::uint64_t seed, std::initializer_list<std::uint64_t> key)
  : state_(mix(seed + golden_gamma)) {
  for (auto part : key)
    state_ = mix(state_ + golden_gamma) ^ mix(part + golden_gamma);
  state_ = mix(state_);
}

std::uint64_t Random::next() {
  return mix(state_ += golden_gamma);
}

double Random::uniform() {
  return static_cast<double>(next() >> 11) * 0x1p-53;
}

double Random::uniform(double low, double high) {
  return low + (high - low) * uniform();
}

std::uint64_t Random::below(std::uint64_t count) {
  // Numbers below 2^64 mod count are drawn again, or small results would come up more
  // often.
  const auto uneven = (0 - count) % count;
  for (;;)
    if (const auto drawn = next(); drawn >= uneven)
      return drawn % count;
}

double Random::normal() {
  const auto radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
  return radius * std::cos(2.0 * std::numbers::pi * uniform());
}

std::uint64_t episode_seed(std::uint64_t seed, std::size_t id, std::uint64_t episode) {
  return Random(seed, {id, episode}).next();
}

} // namespace fiber::rl
