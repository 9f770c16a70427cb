// SPDX-License-Identifier: Apache-2.0
// Population-based training (Jaderberg et al. 2017): members in jobs of their own train
// side by side; the worst copy the best and change their hyper-parameters.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fiber/fiber.hpp>
#include <fiber/rl/checkpoint_file.hpp>
#include <fiber/rl/live_line.hpp>
#include <fiber/rl/population.hpp>
#include <fiber/rl/saved_policy.hpp>

#include "pbt_figures.hpp"
#include "pbt_problems.hpp"

namespace fs = std::filesystem;
namespace rl = fiber::rl;

struct Settings {
  std::string problem = "toy";
  rl::PopulationOptions population;
  pbt::Evolved evolved;
  std::size_t rounds = 25, steps = 200, judge_episodes = 100;
  fs::path out = "out";
  bool resume = false, random_search = true;
};

void say_figure(rl::LiveLine& line, const fs::path& out, bool drawn) {
  line.say(drawn ? "figure saved to " + (out / "pbt.png").string()
                 : "gnuplot could not draw the figure: is it installed?");
}

/// Runs one variant of the toy, from the hyper-parameters (1, 0) and (0, 1).
pbt::ToyRun run_toy(const Settings& settings, const std::string& title, bool exploit,
                    bool explore) {
  auto options = settings.population;
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
  for (std::size_t step = 0; step <= settings.steps; ++step) {
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
  fs::create_directories(settings.out);
  std::vector<pbt::ToyRun> runs;
  std::string result;
  for (auto [title, exploit, explore] :
       {std::tuple("PBT", true, true), std::tuple("exploit only", true, false),
        std::tuple("explore only", false, true),
        std::tuple("grid search", false, false)}) {
    const auto& last =
      runs.emplace_back(run_toy(settings, title, exploit, explore)).rows.back();
    char text[60];
    std::snprintf(text, sizeof text, "%s%s %.4f", result.empty() ? "" : ", ", title,
                  std::max(last[3], last[6]));
    result += text;
    line.show(title);
  }
  say_figure(line, settings.out, pbt::save_toy(settings.out, runs));
  line.say("best score of 1.2: " + result);
  return 0;
}

/// A population on an environment, with its checkpoint.
class Search {
public:
  using Population = rl::Population<pbt::Evolved>;

  Search(const Settings& settings, std::string name, bool adapts, rl::LiveLine& line)
    : settings_(settings), name_(std::move(name)), line_(line) {
    auto options = settings.population;
    options.exploit = options.explore = adapts;
    label_.settings = options.settings();
    const auto& task = settings.evolved;
    label_.settings["environment"] = task.environment;
    label_.settings["network"] = task.policy().describe();
    label_.settings["round"] = std::to_string(task.directions) + " directions, " +
                               std::to_string(task.iterations) + " iterations, " +
                               std::to_string(task.evaluations) + " evaluations";
    auto state = settings.resume ? rl::load_state<Population::State>(checkpoint(), label_)
                                 : std::nullopt;
    if (state)
      line.say(name_ + ": resumed after round " + std::to_string(state->history.size()));
    else if (settings.resume)
      line.say(name_ + ": no checkpoint at " + checkpoint().string() + ": starting anew");
    population_.emplace(task, options, std::move(state));
  }

  /// Trains to the last round, saves its table, and judges the best member.
  void run() {
    while (population_->round() < settings_.rounds) {
      population_->step();
      rl::save_state(checkpoint(), label_, population_->state());
      show();
    }
    pbt::save_history(settings_.out / (name_ + ".csv"), population_->history(),
                      settings_.population.ranges);
    best_ = population_->best();
    const auto& task = settings_.evolved;
    // After the last round nobody that is the best copies another.
    state_ = population_->members()[best_].state;
    judged_ = task.judge(state_, settings_.judge_episodes);
  }

  void save_policy() const {
    const auto& task = settings_.evolved;
    const rl::EvolvedPolicy policy(task.policy(), state_.parameters, {});
    const auto all = policy.spec_parameters();
    rl::save_policy(settings_.out / "policy", {.environment = task.environment,
                                               .spec = task.policy(),
                                               .parameters = {all.begin(), all.end()}});
  }

  std::size_t best() const { return best_; }
  double judged() const { return judged_; }
  int restarts() const { return population_->restarts(); }
  const std::vector<rl::PopulationRound>& history() const {
    return population_->history();
  }
  double mean_score() const {
    double total = 0;
    for (double score : history().back().scores)
      total += score;
    return total / static_cast<double>(history().back().scores.size());
  }

private:
  fs::path checkpoint() const { return settings_.out / (name_ + ".checkpoint"); }

  void show() {
    const auto best = population_->best();
    const auto& done = population_->history().back();
    char text[160];
    std::snprintf(text, sizeof text,
                  "%s %3zu/%zu  best %6.4g (member %zu: rate %.3g, sigma %.3g)",
                  name_.c_str(), static_cast<std::size_t>(population_->round()),
                  settings_.rounds, done.scores[best], best,
                  done.hyperparameters[best][0], done.hyperparameters[best][1]);
    std::string all = text;
    all += "  pids";
    for (int pid : population_->pids())
      all += " " + std::to_string(pid);
    line_.show(all);
    fiber::publish(name_ + ": best score", done.scores[best]);
  }

  const Settings& settings_;
  std::string name_;
  rl::LiveLine& line_;
  rl::FileLabel label_{.kind = "fiber-pbt-checkpoint"};
  std::optional<Population> population_;
  std::size_t best_ = 0;
  pbt::Evolved::State state_;
  double judged_ = 0;
};

std::string described(const std::string& name, const Search& search) {
  char text[160];
  std::snprintf(text, sizeof text, "%s: mean return %.1f, mean score of all members %.1f",
                name.c_str(), search.judged(), search.mean_score());
  return text;
}

int run_environment(const Settings& settings) {
  rl::LiveLine line(stdout, 1);
  fs::create_directories(settings.out);
  line.say(settings.evolved.environment + ": " + settings.evolved.policy().describe() +
           ", " + std::to_string(settings.population.members) +
           " members. Any of the pids may be killed: kill -9 PID");
  Search tuned(settings, "pbt", true, line);
  tuned.run();
  tuned.save_policy();
  int restarts = tuned.restarts();
  std::string result = described("PBT", tuned);
  if (settings.random_search) {
    Search random(settings, "random", false, line);
    random.run();
    restarts += random.restarts();
    result += "; " + described("random search", random);
    const auto title = "PBT of evolution strategies on " + settings.evolved.environment +
                       ", seed " + std::to_string(settings.population.seed);
    say_figure(line, settings.out,
               pbt::draw_history(settings.out, title, tuned.best(), tuned.history(),
                                 settings.population.ranges));
  }
  line.say("policy saved to " + (settings.out / "policy").string() + ", tables to " +
           settings.out.string() + "; " + std::to_string(restarts) +
           " members were lost and went on");
  line.say(result);
  return 0;
}

void add_options(CLI::App& app, Settings& settings) {
  auto add = [&](const char* name, auto& value, const char* what) {
    return app.add_option(name, value, what)->capture_default_str();
  };
  auto& population = settings.population;
  add("--problem", settings.problem,
      "toy: the paper's; or an environment, such as cartpole, that evolution strategies "
      "learn");
  add("--seed", population.seed,
      "The same seed gives the same result, byte for byte, whoever is killed");
  add("--out", settings.out, "Folder for tables, figure, policy and checkpoints");
  app.add_flag("--resume", settings.resume,
               "Go on from the checkpoints in OUT, as if nothing had happened");
  auto counted = [&](const char* name, std::size_t& value, const char* what) {
    add(name, value, what)->check(CLI::PositiveNumber);
  };
  counted("--steps", settings.steps, "Of the toy");
  add("--members", population.members, "A job each")->check(CLI::Range(2, 1000));
  counted("--rounds", settings.rounds, "Of training");
  counted("--interval", population.interval, "Rounds between two times to copy");
  counted("--iterations", settings.evolved.iterations, "Of a member in a round");
  counted("--directions", settings.evolved.directions,
          "Tried in an iteration, both ways");
  counted("--evaluations", settings.evolved.evaluations, "Episodes that give a score");
  add("--quantile", population.quantile, "Share that copies, and that is copied")
    ->check(CLI::Range(1e-6, 0.5));
  add("--up", population.up, "A factor of perturbation")->check(CLI::PositiveNumber);
  add("--down", population.down, "The other one")->check(CLI::PositiveNumber);
  add("--resample", population.resample, "Probability to draw anew instead")
    ->check(CLI::Range(0.0, 1.0));
  app.add_flag("!--no-random-search", settings.random_search,
               "Do not run random search, for comparison, with the same budget");
}

int main(int argc, char** argv) {
  Settings settings;
  settings.population.ranges = {{"learning rate", 1e-4, 1, true},
                                {"sigma", 0.01, 1, true}};
  CLI::App app(
    "Population-based training (Jaderberg et al. 2017) of members that live in "
    "jobs of their own.");
  app.option_defaults()->take_last();
  add_options(app, settings);
  CLI11_PARSE(app, argc, argv);

  auto session = fiber::init(argc, argv); // In a job, this call never returns.
  try {
    if (settings.problem == "toy")
      return run_toys(settings);
    settings.evolved.environment = settings.problem;
    settings.evolved.seed = settings.population.seed;
    rl::make_environment(settings.problem);
    settings.population.check();
    return run_environment(settings);
  } catch (const std::exception& error) {
    std::cerr << "pbt: " << error.what() << '\n';
    return 2;
  }
}
