// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace fiber::rl::ppo {

/// What environments gave at a step, row i of the environment `first_env` + i. Both throw
/// std::domain_error that names the environment for a number that is not finite.
void check_observations(std::span<const float> rows, std::size_t envs,
                        std::size_t first_env, std::uint64_t step);
void check_rewards(std::span<const double> rewards, std::size_t first_env,
                   std::uint64_t step);

} // namespace fiber::rl::ppo
