// SPDX-License-Identifier: Apache-2.0
#include "rl/ppo/finite.hpp"

#include <cmath>
#include <stdexcept>
#include <string>

#include "fiber/rl/detail/number_text.hpp"

namespace fiber::rl::ppo {
namespace {

[[noreturn]] void refuse(std::size_t env, std::uint64_t step, const std::string& what,
                         double value) {
  throw std::domain_error("environment " + std::to_string(env) + ", step " +
                          std::to_string(step) + ": " + what + " is " +
                          detail::shown(value));
}

} // namespace

void check_observations(std::span<const float> rows, std::size_t envs,
                        std::size_t first_env, std::uint64_t step) {
  auto size = rows.size() / envs;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (!std::isfinite(rows[i]))
      refuse(first_env + i / size, step,
             "component " + std::to_string(i % size) + " of the observation", rows[i]);
}

void check_rewards(std::span<const double> rewards, std::size_t first_env,
                   std::uint64_t step) {
  for (std::size_t i = 0; i < rewards.size(); ++i)
    if (!std::isfinite(rewards[i]))
      refuse(first_env + i, step, "the reward", rewards[i]);
}

} // namespace fiber::rl::ppo
