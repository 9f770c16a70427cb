// SPDX-License-Identifier: Apache-2.0
// A genetic algorithm for deep networks (Such et al. 2017) on a pool: a network is the
// list of seeds that it grew from, so tasks do not grow with it.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <fiber/fiber.hpp>
#include <fiber/rl/checkpoint_file.hpp>
#include <fiber/rl/detail/formatted.hpp>
#include <fiber/rl/detail/parse_options.hpp>
#include <fiber/rl/environments.hpp>
#include <fiber/rl/genetic.hpp>
#include <fiber/rl/live_line.hpp>
#include <fiber/rl/saved_policy.hpp>
#include <fiber/rl/training_log.hpp>

namespace fs = std::filesystem;
namespace rl = fiber::rl;

/// What a task returns: the result, and who computed it, for the progress line.
using Reported = std::pair<double, int>;

/// Has what a worker keeps from task to task, its networks above all.
rl::GeneticWorker& this_worker(const std::string& environment) {
  thread_local std::map<std::string, rl::GeneticWorker> workers;
  auto found = workers.find(environment);
  if (found == workers.end())
    found = workers.try_emplace(environment, rl::make_environment(environment)).first;
  return found->second;
}

template <class Task>
Reported evaluate(const std::string& environment, const rl::Brood& brood, Task task) {
  return {this_worker(environment).evaluate(brood, task), ::getpid()};
}

/// Evaluates on the pool's workers. What all tasks have in common is bound, and sent once
/// a worker; a task is some numbers.
template <class Task>
auto on_pool(fiber::Pool& pool, const std::string& environment, std::set<int>& pids) {
  return
    [&pool, &pids, environment](const rl::Brood& brood, const std::vector<Task>& tasks) {
      std::vector<double> values;
      for (auto [value, pid] :
           pool.map(fiber::bind(evaluate<Task>, environment, brood), tasks)) {
        values.push_back(value);
        pids.insert(pid);
      }
      return values;
    };
}

struct Settings {
  rl::GeneticOptions search;
  std::size_t workers = 0;
  fs::path out = "out";
  bool resume = false;
};

void show(rl::LiveLine& line, const rl::CurvePoint& point, std::size_t generations,
          const std::set<int>& pids) {
  auto all =
    rl::detail::formatted("%3zu/%zu  mean %6.4g  best %6.4g  %3.0f s  pids",
                          static_cast<std::size_t>(point.iteration), generations,
                          point.policy_mean, point.population_best, point.seconds);
  for (int pid : pids)
    all += " " + std::to_string(pid);
  line.show(all);
}

void save_result(const Settings& settings, const rl::GeneticSearch& search,
                 const rl::TrainingLog& log, rl::LiveLine& line) {
  const auto& options = settings.search;
  const rl::EvolvedPolicy elite(search.policy(), search.elite_parameters(), {});
  const auto all = elite.spec_parameters();
  const auto policy = settings.out / "policy";
  rl::save_policy(policy, {.environment = options.environment,
                           .spec = search.policy(),
                           .parameters = {all.begin(), all.end()}});
  line.say("policy saved to " + policy.string());
  const bool drawn = log.plot({"mean of the children", "the elite in fresh episodes"},
                              {.title = "Deep GA on " + options.environment + ", seed " +
                                        std::to_string(options.seed),
                               .x_label = "generation",
                               .solved_at = options.solved_at});
  line.say("curve saved to " + log.csv().string() +
           (drawn ? " and " + (settings.out / "curve.png").string()
                  : "; gnuplot could not draw it: is it installed?"));
}

/// Prints how it ended. Returns the program's exit code.
int conclude(const rl::GeneticSearch& search, rl::LiveLine& line) {
  const auto& state = search.state();
  const bool mark = search.options().solved_at.has_value();
  if (state.solved)
    line.say(rl::detail::formatted(
      "SOLVED after %zu generation%s: mean return %.1f over %zu fresh "
      "episodes, %.1f over %zu more",
      static_cast<std::size_t>(state.generation), state.generation == 1 ? "" : "s",
      state.curve.back().policy_mean, search.options().evaluations, state.confirmed_mean,
      search.options().evaluations));
  else
    line.say(rl::detail::formatted(
      "%s after %zu generations: mean return %.4g", mark ? "NOT SOLVED" : "done",
      static_cast<std::size_t>(state.generation), state.curve.back().policy_mean));
  return state.solved || !mark ? 0 : 1;
}

rl::TrainingLog start_log(const Settings& settings, const rl::GeneticSearch& search) {
  rl::TrainingLogOptions options;
  options.folder = settings.out;
  options.columns = {"mean of the children", "best child", "the elite in fresh episodes",
                     "seconds", "episodes"};
  if (search.state().generation > 0)
    options.resume_after = search.state().generation;
  return rl::TrainingLog(options);
}

int train(const Settings& settings) {
  using Clock = std::chrono::steady_clock;
  const auto started = Clock::now();
  const auto& options = settings.search;
  const auto spaces = rl::make_environment(options.environment)->spaces();
  options.check();
  const auto checkpoint = settings.out / "checkpoint";
  fs::create_directories(settings.out);
  const rl::FileLabel label{.kind = "fiber-deep-ga-checkpoint",
                            .settings = options.settings()};
  auto state =
    settings.resume ? rl::load_state<rl::GeneticState>(checkpoint, label) : std::nullopt;
  rl::LiveLine line(stdout, 1);
  if (state)
    line.say("resumed after generation " + std::to_string(state->generation));
  else if (settings.resume)
    line.say("no checkpoint at " + checkpoint.string() + ": starting anew");
  rl::GeneticSearch search(options, spaces,
                           state ? std::move(*state) : rl::GeneticState());
  const auto before =
    search.state().curve.empty() ? 0.0 : search.state().curve.back().seconds;
  auto log = start_log(settings, search);

  const auto workers = settings.workers > 0 ? settings.workers : fiber::cpu_count();
  // No task here kills its worker; whoever is killed was killed by hand.
  fiber::Pool pool({.workers = workers, .max_retries = -1});
  std::set<int> pids;
  const rl::GeneticEvaluator evaluator = {
    .offspring = on_pool<rl::Offspring>(pool, options.environment, pids),
    .trials = on_pool<rl::Trial>(pool, options.environment, pids)};
  line.say(options.environment + ": " + search.policy().describe() + ", seed " +
           std::to_string(options.seed) + ", " + std::to_string(workers) +
           " workers. mean: return of the elite in " +
           std::to_string(options.evaluations) +
           " fresh episodes;\nbest: of the children. Any of the pids may be killed: "
           "kill -9 PID");
  while (!search.finished()) {
    pids.clear();
    auto& point = search.step(evaluator);
    point.seconds =
      before + std::chrono::duration<double>(Clock::now() - started).count();
    log.add(point.iteration,
            std::vector{point.population_mean, point.population_best, point.policy_mean,
                        point.seconds, static_cast<double>(point.episodes)});
    log.sync(); // The checkpoint is never ahead of the log.
    rl::save_state(checkpoint, label, search.state());
    show(line, point, options.generations, pids);
  }
  save_result(settings, search, log, line);
  const auto stats = pool.stats();
  line.say(std::to_string(stats.workers_lost) + " workers lost, " +
           std::to_string(stats.retries) + " retries, " +
           std::to_string(stats.bytes_sent) + " bytes sent");
  return conclude(search, line);
}

/// What the command line may say.
struct Options {
  std::string environment = "cartpole";
  Settings settings;
  std::optional<std::size_t> generations, population, parents, episodes, elite_episodes,
    evaluations;
  std::optional<float> sigma;
  std::vector<std::size_t> hidden;
  std::uint64_t seed = 1;

  void add_to(CLI::App& app);
  /// The settings, with the defaults of the environment where nothing was said.
  Settings resolve() const;
};

void Options::add_to(CLI::App& app) {
  std::string names;
  for (const auto& name : rl::environment_names())
    names += (names.empty() ? "" : ", ") + name;
  app.add_option("--env", environment, "What to learn: " + names)->capture_default_str();
  app.add_option("--workers", settings.workers, "Worker processes [default: one a core]")
    ->check(CLI::PositiveNumber);
  app
    .add_option("--seed", seed,
                "The same seed gives the same policy, byte for byte, whatever the "
                "number of workers and whoever died")
    ->capture_default_str();
  app.add_option("--out", settings.out, "Folder for policy, curve and checkpoint")
    ->capture_default_str();
  app.add_flag("--resume", settings.resume,
               "Go on from the checkpoint in OUT, as if nothing had happened");
  auto add = [&](const char* name, auto& value, const char* what) {
    return app.add_option(name, value, what)->group("The search (defaults: by --env)");
  };
  add("--generations", generations, "At most")->check(CLI::PositiveNumber);
  add("--population", population, "Children in a generation")->check(CLI::PositiveNumber);
  add("--parents", parents, "The best, that have children")->check(CLI::PositiveNumber);
  add("--sigma", sigma, "Standard deviation of a mutation")->check(CLI::PositiveNumber);
  add("--episodes", episodes, "That judge a child")->check(CLI::PositiveNumber);
  add("--elite-episodes", elite_episodes, "That judge a candidate for the elite")
    ->check(CLI::PositiveNumber);
  add("--evaluations", evaluations, "Fresh episodes that judge the elite")
    ->check(CLI::PositiveNumber);
  add("--hidden", hidden,
      "Units in each hidden layer, such as --hidden 40 40; 0: no such layer");
}

Settings Options::resolve() const {
  auto resolved = settings;
  auto& search = resolved.search;
  search = rl::genetic_options(environment);
  search.seed = seed;
  search.generations = generations.value_or(search.generations);
  search.population = population.value_or(search.population);
  search.parents = parents.value_or(std::min(search.parents, search.population));
  search.elite_candidates = std::min(search.elite_candidates, search.population);
  search.sigma = sigma.value_or(search.sigma);
  search.episodes = episodes.value_or(search.episodes);
  search.elite_episodes = elite_episodes.value_or(search.elite_episodes);
  search.evaluations = evaluations.value_or(search.evaluations);
  if (!hidden.empty())
    search.hidden = hidden;
  std::erase(search.hidden, 0);
  return resolved;
}

int main(int argc, char** argv) {
  CLI::App app("Evolves a policy by a genetic algorithm (Such et al. 2017) on a pool.\n"
               "Ends with 0 if the task was solved, or if the generations were run and "
               "the environment has no mark; with 1 if it was not solved.");
  app.option_defaults()->take_last();
  Options options;
  options.add_to(app);
  if (const auto ended = rl::detail::parse_options(app, argc, argv))
    return *ended;

  auto session = fiber::init(argc, argv); // In a worker, this call never returns.
  try {
    return train(options.resolve());
  } catch (const std::exception& error) {
    std::cerr << "deep_ga: " << error.what() << '\n';
    return 2;
  }
}
