// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "fiber/rl/environment.hpp"
#include "rl/vec/episode_book.hpp"

// What is wrong with a call of a VecEnv. Each function throws an error that names the
// environments, before anything has changed.

namespace fiber::rl::vec {

/// The numbers of environments in words, the first few of them: "environments 3, 5, 8".
std::string name_envs(std::span<const int> ids);

/// That each is there, and once.
void check_ids(std::span<const int> ids, std::size_t envs);
/// That none of them is in flight.
void check_idle(const EpisodeBook& book, std::span<const int> ids, const char* call);
/// That each is in an episode that a step can go on with.
void check_can_step(const EpisodeBook& book, std::span<const int> ids,
                    Autoreset autoreset);
/// That there is an action for each, one that there is, and that the mask of the last row
/// allows.
void check_actions(std::span<const float> actions, std::span<const int> ids,
                   const Spaces& spaces, Rows& rows);

} // namespace fiber::rl::vec
