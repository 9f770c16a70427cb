// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <initializer_list>

#include "fiber/rl/random.hpp"

namespace fiber::rl::ppo {

/// What the seed of a training decides, each with numbers of its own.
enum class Use : std::uint64_t { environments, actions, networks = 100, order };

inline std::uint64_t seed_for(Use use, std::uint64_t seed) {
  return Random(seed, {static_cast<std::uint64_t>(use)}).next();
}

} // namespace fiber::rl::ppo
