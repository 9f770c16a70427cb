// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <csignal>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

#include "fiber/rl/cartpole.hpp"
#include "fiber/rl/random.hpp"
#include "fiber/rl/vec_env.hpp"
#include "tests/e2e/support/notes.hpp"

namespace fiber::rl::tests {

/// An environment that does what its action says, and shows how many steps the episode
/// has, a number of its seed, and the process that it is in.
class Puppet {
public:
  using Action = int;
  enum : int { go_on, terminate, truncate, fail, die, wait_for_note };

  static constexpr int actions = 6;
  static constexpr std::size_t observation_size = 3;

  void reset(std::uint64_t seed) {
    seed_ = seed % 1'000'000;
    steps_ = 0;
  }
  Step step(Action action) {
    ++steps_;
    if (action == fail)
      throw std::runtime_error("the string broke");
    if (action == die)
      ::kill(::getpid(), SIGKILL);
    if (action == wait_for_note)
      e2e::note_and_wait("waits");
    return {.reward = 0.5 * steps_,
            .terminated = action == terminate,
            .truncated = action == truncate};
  }
  void observe(std::span<float> out) const {
    out[0] = static_cast<float>(steps_);
    out[1] = static_cast<float>(seed_);
    out[2] = static_cast<float>(::getpid());
  }

private:
  std::uint64_t seed_ = 0;
  int steps_ = 0;
};

/// The seed that a Puppet shows in an episode.
inline float shown_seed(std::uint64_t seed, std::size_t id, std::uint64_t episode) {
  return static_cast<float>(episode_seed(seed, id, episode) % 1'000'000);
}

/// How a VecEnv reaches its environments.
enum class Way { here, shared_memory, messages };
inline constexpr Way job_ways[] = {Way::shared_memory, Way::messages};
inline constexpr Way all_ways[] = {Way::here, Way::shared_memory, Way::messages};

/// Environments `E` that are reached in one way.
template <Environment E>
AnyVecEnv vec_env(VecEnvOptions options, Way way) {
  auto hosts = detail::hosts_of(fiber::bind(&detail::make_erased<E>));
  hosts->messages_only = way == Way::messages;
  if (way == Way::here)
    options.jobs = 0;
  return AnyVecEnv(options, std::move(hosts));
}

/// An action for each environment, the same wherever they live.
inline std::vector<float> random_actions(std::size_t envs, int actions,
                                         std::uint64_t step) {
  std::vector<float> chosen;
  for (std::size_t id = 0; id < envs; ++id)
    chosen.push_back(static_cast<float>(
      Random(7, {id, step}).below(static_cast<std::uint64_t>(actions))));
  return chosen;
}

/// All that a Batch says, as numbers that can be compared.
inline std::vector<double> contents(const Batch& batch) {
  std::vector<double> all;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    for (const double part :
         {double(batch.env_ids[i]), batch.rewards[i], double(batch.terminated[i]),
          double(batch.truncated[i]), double(batch.valid[i]), batch.episode_return(i),
          double(batch.episode_length(i))})
      all.push_back(part);
    for (const auto row : {batch.observation(i), batch.final_observation(i)})
      all.insert(all.end(), row.begin(), row.end());
  }
  return all;
}

} // namespace fiber::rl::tests
