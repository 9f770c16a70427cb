// SPDX-License-Identifier: Apache-2.0
#include "rl/ppo/rollout_actor.hpp"

#include <exception>
#include <string>

#include <fiber/error.hpp>

#include "rl/ppo/player.hpp"

namespace fiber::rl::ppo {

void RolloutActor::run(std::uint64_t life) const {
  try {
    try {
      play(life);
    } catch (const Closed&) {
      throw;
    } catch (const std::exception& error) {
      Trajectory last;
      last.error = name() + (error.what() == nullptr ? "" : error.what());
      done_.put(last);
    }
  } catch (const Closed&) { // The training is over.
  }
}

void RolloutActor::play(std::uint64_t life) const {
  Player player(options_, life);
  for (;;) {
    if (auto newer = board_.call<&PolicyBoard::newer>(player.version()))
      player.follow(newer->version, newer->parameters, newer->observations);
    auto played = player.play();
    if (played.failures.errors > 0)
      played.failures.first_error = name() + played.failures.first_error;
    done_.put(played);
  }
}

std::string RolloutActor::name() const {
  return "the actor of environments " + std::to_string(options_.first_env) + " to " +
         std::to_string(options_.first_env + options_.envs - 1) + ": ";
}

} // namespace fiber::rl::ppo
