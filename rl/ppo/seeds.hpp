// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include "fiber/rl/random.hpp"

namespace fiber::rl::ppo {

/// What the seed of a training decides, each with numbers of its own.
enum class Use : std::uint64_t { environments, actions, networks = 100, order, learners };

inline std::uint64_t seed_for(Use use, std::uint64_t seed) {
  return Random(seed, {static_cast<std::uint64_t>(use)}).next();
}

/// The seed of what one of several learners plays. The first plays as a learner alone.
inline std::uint64_t seed_of_learner(std::size_t rank, std::uint64_t seed) {
  return rank == 0
           ? seed
           : Random(seed, {static_cast<std::uint64_t>(Use::learners), rank}).next();
}

} // namespace fiber::rl::ppo
