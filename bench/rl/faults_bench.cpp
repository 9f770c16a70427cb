// SPDX-License-Identifier: Apache-2.0
// faults_bench train [--steps N]: trains LunarLander while environments sleep for ever,
// throw and kill their process, each once in 10,000 steps.
// faults_bench endless [--steps N]: how much memory grows while 64 environments play
// episodes that do not end.

#include <csignal>
#include <cstdio>
#include <fstream>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <fiber/fiber.hpp>
#include <fiber/rl.hpp>
#include <fiber/rl/ppo_trainer.hpp>

namespace {

using namespace std::chrono_literals;

bool in_driver = false; ///< Jobs do not get past fiber::init().

/// A LunarLander that fails, in jobs only. When is drawn anew in each process, so a step
/// that failed succeeds when it is tried again.
class FaultyLander : public fiber::rl::LunarLander {
public:
  fiber::rl::Step step(int action) {
    if (!in_driver) {
      const auto drawn = std::uniform_int_distribution<int>(0, 9'999)(random_);
      if (drawn == 0)
        for (;;)
          std::this_thread::sleep_for(1h);
      if (drawn == 1)
        throw std::runtime_error("the environment has failed");
      if (drawn == 2)
        ::kill(::getpid(), SIGKILL);
    }
    return LunarLander::step(action);
  }

private:
  std::mt19937 random_{std::random_device()()};
};

/// An environment whose episodes do not end.
class Endless {
public:
  using Action = int;
  static constexpr int actions = 2;
  static constexpr std::size_t observation_size = 1;
  void reset(std::uint64_t /*seed*/) { at_ = 0; }
  fiber::rl::Step step(int action) {
    at_ = 0.99F * at_ + static_cast<float>(action);
    return {.reward = 1};
  }
  void observe(std::span<float> out) const { out[0] = at_; }

private:
  float at_ = 0;
};

void print(const char* name, double value, const char* unit) {
  std::printf("{\"name\": \"%s\", \"value\": %.2f, \"unit\": \"%s\"}\n", name, value,
              unit);
}

int train(std::uint64_t steps, std::uint64_t seed) {
  auto options = fiber::rl::ppo_defaults("lunar_lander");
  options.environment = "faulty_lander";
  options.seed = seed;
  options.steps = steps;
  options.jobs = 2;
  options.step_timeout = 1s;
  options.on_error = fiber::rl::OnError::new_episode;
  fiber::rl::PpoTrainer trainer(options);
  trainer.run();
  std::fprintf(stderr, "%s\n", trainer.summary().c_str());
  print("faults_return", trainer.evaluate({.episodes = 100}).mean_return(), "points");
  print("faults_seconds", trainer.last_update().seconds, "s");
  return 0;
}

/// The resident memory of this process, in bytes.
double memory() {
  std::ifstream file("/proc/self/statm");
  double size = 0, resident = 0;
  file >> size >> resident;
  return resident * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

int endless(std::uint64_t steps) {
  constexpr std::size_t envs = 64;
  fiber::rl::VecEnv<Endless> all({.envs = envs, .jobs = 2});
  const std::vector<int> actions(envs, 1);
  all.reset();
  double before = 0;
  // The histories for replay stop growing after 100,000 steps of each environment.
  const auto warm = all.options().history_limit * envs * 2;
  for (std::uint64_t step = 0; step < steps + warm; step += envs) {
    if (step == warm)
      before = memory();
    all.step(actions);
  }
  print("endless_memory", (memory() - before) / (1 << 20), "MiB");
  return 0;
}

} // namespace

int main(int argc, char** argv) {
  fiber::rl::register_environment<FaultyLander>("faulty_lander");
  const auto session = fiber::init(argc, argv);
  in_driver = true;
  CLI::App app("Environments that fail, and environments that do not end");
  app.require_subcommand(1);
  std::uint64_t steps = 1'000'000, seed = 1, endless_steps = 100'000'000;
  auto* training = app.add_subcommand("train", "LunarLander with faults");
  training->add_option("--steps", steps);
  training->add_option("--seed", seed);
  app.add_subcommand("endless", "Memory")->add_option("--steps", endless_steps);
  CLI11_PARSE(app, argc, argv);
  return training->parsed() ? train(steps, seed) : endless(endless_steps);
}
