// SPDX-License-Identifier: Apache-2.0
// Population-based training (Jaderberg et al. 2017): members in jobs of their own train
// side by side; the worst copy the best and change their hyper-parameters.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include <CLI/CLI.hpp>
#include <fiber/fiber.hpp>
#include <fiber/rl/detail/formatted.hpp>
#include <fiber/rl/detail/parse_options.hpp>
#include <fiber/rl/environments.hpp>
#include <fiber/rl/live_line.hpp>
#include <fiber/rl/population.hpp>
#include <fiber/rl/ppo_problem.hpp>

#include "pbt_figures.hpp"
#include "pbt_problems.hpp"
#include "pbt_search.hpp"

namespace fs = std::filesystem;
namespace rl = fiber::rl;

struct Settings {
  std::string problem = "toy", trainer = "es";
  pbt::SearchOptions search;
  pbt::Evolved evolved;
  std::size_t toy_steps = 200, steps_per_round = 8192, evaluations = 20;
  double round_timeout = 0; ///< Seconds.
};

/// Runs one variant of the toy, from the hyper-parameters (1, 0) and (0, 1).
pbt::ToyRun run_toy(const Settings& settings, const std::string& title, bool exploit,
                    bool explore) {
  auto options = settings.search.population;
  options.members = 2;
  options.ranges = {{"h0", 0, 1}, {"h1", 0, 1}};
  options.exploit = exploit;
  options.explore = explore;
  options.copy_hyperparameters = false;
  rl::Population<pbt::Toy>::State start;
  start.members.resize(2);
  start.hyperparameters = {{1, 0}, {0, 1}};
  rl::Population<pbt::Toy> population({}, options, start);
  pbt::ToyRun run{title, {}};
  for (std::size_t step = 0; step <= settings.toy_steps; ++step) {
    if (step > 0)
      population.step();
    auto& row = run.rows.emplace_back(std::vector{static_cast<double>(step)});
    for (const auto& member : population.members()) {
      const auto& state = member.state;
      row.insert(row.end(), {state.theta0, state.theta1, pbt::Toy::score(state)});
    }
  }
  return run;
}

int run_toys(const Settings& settings) {
  rl::LiveLine line(stdout, 1);
  const auto& out = settings.search.out;
  fs::create_directories(out);
  std::vector<pbt::ToyRun> runs;
  std::string result;
  for (auto [title, exploit, explore] :
       {std::tuple("PBT", true, true), std::tuple("exploit only", true, false),
        std::tuple("explore only", false, true),
        std::tuple("grid search", false, false)}) {
    const auto& last =
      runs.emplace_back(run_toy(settings, title, exploit, explore)).rows.back();
    result += rl::detail::formatted("%s%s %.4f", result.empty() ? "" : ", ", title,
                                    std::max(last[3], last[6]));
    line.show(title);
  }
  pbt::say_figure(line, out, pbt::save_toy(out, runs));
  line.say("best score of 1.2: " + result);
  return 0;
}

void add_options(CLI::App& app, Settings& settings) {
  auto add = [&](const char* name, auto& value, const char* what) {
    return app.add_option(name, value, what)->capture_default_str();
  };
  auto& search = settings.search;
  auto& population = search.population;
  add("--problem", settings.problem,
      "toy: the paper's; or an environment, such as cartpole, that the trainer learns");
  add("--trainer", settings.trainer,
      "Of an environment: es, evolution strategies; or ppo, proximal policy optimisation")
    ->check(CLI::IsMember({"es", "ppo"}));
  add("--seed", population.seed,
      "The same seed gives the same result, byte for byte, whoever is killed");
  add("--out", search.out, "Folder for tables, figure, policy and checkpoints");
  app.add_flag("--resume", search.resume,
               "Go on from the checkpoints in OUT, as if nothing had happened");
  auto counted = [&](const char* name, std::size_t& value, const char* what) {
    add(name, value, what)->check(CLI::PositiveNumber);
  };
  counted("--steps", settings.toy_steps, "Of the toy");
  add("--members", population.members, "A job each")->check(CLI::Range(2, 1000));
  counted("--rounds", search.rounds, "Of training");
  counted("--interval", population.interval, "Rounds between two times to copy");
  counted("--iterations", settings.evolved.iterations,
          "es: iterations of a member in a round");
  counted("--directions", settings.evolved.directions,
          "es: tried in an iteration, both ways");
  counted("--steps-per-round", settings.steps_per_round,
          "ppo: steps of a member's environments, together, in a round");
  counted("--evaluations", settings.evaluations, "Episodes that give a score");
  add("--quantile", population.quantile, "Share that copies, and that is copied")
    ->check(CLI::Range(1e-6, 0.5));
  add("--up", population.up, "A factor of perturbation")->check(CLI::PositiveNumber);
  add("--down", population.down, "The other one")->check(CLI::PositiveNumber);
  add("--resample", population.resample, "Probability to draw anew instead")
    ->check(CLI::Range(0.0, 1.0));
  add("--round-timeout", settings.round_timeout,
      "Seconds that a member may train in a round; the job of a member that takes longer "
      "is replaced, and the member trains the round again. 0: no limit")
    ->check(CLI::Range(0.0, 1e6));
  app.add_flag("!--no-random-search", search.random_search,
               "Do not run random search, for comparison, with the same budget");
}

int evolve(Settings& settings) {
  auto& population = settings.search.population;
  population.ranges = {{"learning rate", 1e-4, 1, true}, {"sigma", 0.01, 1, true}};
  population.check();
  settings.evolved.environment = settings.problem;
  settings.evolved.seed = population.seed;
  settings.evolved.evaluations = settings.evaluations;
  return pbt::search(settings.evolved, settings.search, "evolution strategies");
}

int learn_by_ppo(Settings& settings) {
  auto& population = settings.search.population;
  population.ranges = rl::PpoProblem::ranges();
  population.check();
  return pbt::search(rl::PpoProblem{.environment = settings.problem,
                                    .seed = population.seed,
                                    .steps = settings.steps_per_round,
                                    .evaluations = settings.evaluations},
                     settings.search, "PPO");
}

/// Throws std::invalid_argument for an option of the trainer that was not asked for.
void check_trainer(const CLI::App& app, const std::string& trainer) {
  const std::vector<std::string> others =
    trainer == "ppo" ? std::vector<std::string>{"--iterations", "--directions"}
                     : std::vector<std::string>{"--steps-per-round"};
  for (const auto& option : others)
    if (app.count(option) > 0)
      throw std::invalid_argument("--trainer " + trainer + " has no " + option);
}

int main(int argc, char** argv) {
  Settings settings;
  CLI::App app(
    "Population-based training (Jaderberg et al. 2017) of members that live in "
    "jobs of their own.");
  app.option_defaults()->take_last();
  add_options(app, settings);
  if (const auto ended = fiber::rl::detail::parse_options(app, argc, argv))
    return *ended;
  if (settings.round_timeout > 0)
    settings.search.population.round_timeout = std::chrono::milliseconds(
      std::max(std::llround(1000 * settings.round_timeout), 1LL));

  auto session = fiber::init(argc, argv); // In a job, this call never returns.
  try {
    check_trainer(app, settings.trainer);
    const bool ppo = settings.trainer == "ppo";
    if (settings.problem == "toy" && ppo)
      throw std::invalid_argument(
        "--trainer ppo needs an environment: --problem cartpole, for example");
    if (settings.problem == "toy")
      return run_toys(settings);
    rl::make_environment(settings.problem);
    return ppo ? learn_by_ppo(settings) : evolve(settings);
  } catch (const std::exception& error) {
    std::cerr << "pbt: " << error.what() << '\n';
    return 2;
  }
}
