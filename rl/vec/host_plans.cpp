// SPDX-License-Identifier: Apache-2.0
#include "rl/vec/host_plans.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>

#include "fiber/error.hpp"

namespace fiber::rl::vec {

using detail::HostPlan;

namespace plan_checks {
namespace {

void check_timeout(const VecEnvOptions& options) {
  if (!options.step_timeout)
    return;
  if (options.step_timeout->count() < 1)
    refuse_timeout("1 ms or more, or nothing for no limit",
                   std::to_string(options.step_timeout->count()) + " ms can't be used");
  if (options.jobs == 0)
    refuse_timeout("only with jobs >= 1",
                   "with jobs = 0 environments run on the caller's thread, and nothing "
                   "can interrupt one that hangs");
}

} // namespace
} // namespace plan_checks

void refuse_timeout(const std::string& valid, const std::string& problem) {
  throw ConfigError("step_timeout", "VecEnvOptions", valid, problem);
}

VecEnvOptions checked(VecEnvOptions options) {
  constexpr std::size_t most = 1'000'000;
  auto refuse = [](const char* key, std::size_t value, const std::string& valid) {
    throw ConfigError(key, "VecEnvOptions", valid,
                      std::to_string(value) + " can't be used");
  };
  if (options.envs < 1 || options.envs > most)
    refuse("envs", options.envs, "1 to " + std::to_string(most));
  if (options.batch > options.envs)
    refuse("batch", options.batch,
           "0 (all) to " + std::to_string(options.envs) + ", the number of environments");
  if (options.batch == 0)
    options.batch = options.envs;
  options.jobs = std::min(options.jobs, options.envs);
  if (options.replay && options.history_limit == 0)
    refuse("history_limit", options.history_limit,
           "1 or more with replay, which needs the actions of an episode");
  plan_checks::check_timeout(options);
  return options;
}

std::vector<HostPlan> spread(const VecEnvOptions& options) {
  std::vector<HostPlan> plans;
  std::optional<Queue<detail::Hang>> hangs;
  if (options.step_timeout)
    hangs.emplace(options.jobs + 64); // A job says one thing before it ends.
  for (std::size_t job = 0; job < options.jobs; ++job) {
    const auto first = job * options.envs / options.jobs;
    const auto end = (job + 1) * options.envs / options.jobs;
    plans.push_back(
      {.job = static_cast<int>(job),
       .first = static_cast<int>(first),
       .count = static_cast<int>(end - first),
       .autoreset = static_cast<std::uint8_t>(options.autoreset),
       .step_timeout = options.step_timeout.value_or(std::chrono::milliseconds(0)),
       .hangs = hangs});
  }
  return plans;
}

} // namespace fiber::rl::vec
