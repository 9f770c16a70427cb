// SPDX-License-Identifier: Apache-2.0
// mujoco_bench ENVIRONMENT [--envs N] [--jobs N] [--seconds S]: steps/s of environments
// of MuJoCo in an AnyVecEnv, with random actions. Prints the line that run.py reads.

#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fiber/fiber.hpp>
#include <fiber/rl.hpp>

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// The actions of 64 rounds, drawn before.
std::vector<std::vector<float>> random_actions(const fiber::rl::Spaces& spaces,
                                               std::size_t envs) {
  fiber::rl::Random random(1);
  std::vector<std::vector<float>> rounds(64);
  for (auto& round : rounds)
    for (std::size_t env = 0; env < envs; ++env)
      for (std::size_t i = 0; i < spaces.action_size(); ++i)
        round.push_back(static_cast<float>(
          random.uniform(spaces.action_low[i], spaces.action_high[i])));
  return rounds;
}

} // namespace

int main(int argc, char** argv) {
  const auto session = fiber::init(argc, argv);
  std::string environment;
  std::size_t envs = 16, jobs = fiber::cpu_count();
  double seconds = 3;
  CLI::App app("Steps a second of environments of MuJoCo");
  app.add_option("ENVIRONMENT", environment)->required();
  app.add_option("--envs", envs);
  app.add_option("--jobs", jobs, "0: in this process");
  app.add_option("--seconds", seconds);
  CLI11_PARSE(app, argc, argv);

  fiber::rl::AnyVecEnv all({.envs = envs, .jobs = jobs, .seed = 1}, environment);
  const auto actions = random_actions(all.spaces(), envs);
  all.reset();
  for (const auto& round : actions) // All are up.
    all.step(round);
  std::size_t rounds = 0;
  const auto start = Clock::now();
  while (seconds_since(start) < seconds)
    all.step(actions[rounds++ % actions.size()]);
  const double rate = static_cast<double>(rounds * envs) / seconds_since(start);
  std::printf("{\"version\": \"%s\"}\n", fiber::rl::physics_engine(environment).c_str());
  std::printf("{\"name\": \"mujoco_%s\", \"value\": %.1f, \"unit\": \"steps/s\"}\n",
              environment.c_str(), rate);
}
