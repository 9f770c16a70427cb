// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fiber/fiber.hpp>
#include <fiber/rl/checkpoint_file.hpp>
#include <fiber/rl/detail/formatted.hpp>
#include <fiber/rl/live_line.hpp>
#include <fiber/rl/population.hpp>
#include <fiber/rl/saved_policy.hpp>

#include "pbt_figures.hpp"

// Population-based training on an environment, by any trainer. `Problem` is that of a
// fiber::rl::Population, and says besides:
//
//     std::string environment;
//     PolicySpec spec() const;
//     double judge(const State& state, std::size_t episodes) const;
//     SavedPolicy saved(const State& state) const;
//     std::map<std::string, std::string> settings() const; // What decides a round.

namespace pbt {

/// Fresh episodes that judge the best member in the end.
inline constexpr std::size_t judge_episodes = 100;

struct SearchOptions {
  fiber::rl::PopulationOptions population;
  std::size_t rounds = 25;
  std::filesystem::path out = "out";
  bool resume = false, random_search = true;
};

inline void say_figure(fiber::rl::LiveLine& line, const std::filesystem::path& out,
                       bool drawn) {
  line.say(drawn ? "figure saved to " + (out / "pbt.png").string()
                 : "gnuplot could not draw the figure: is it installed?");
}

/// A population on an environment, with its checkpoint.
template <class Problem>
class Search {
public:
  using Population = fiber::rl::Population<Problem>;

  Search(const Problem& problem, const SearchOptions& options, std::string name,
         bool adapts, fiber::rl::LiveLine& line)
    : problem_(problem), options_(options), name_(std::move(name)), line_(line) {
    auto population = options.population;
    population.exploit = population.explore = adapts;
    label_.settings = population.settings();
    label_.settings.merge(problem.settings());
    label_.settings["environment"] = problem.environment;
    label_.settings["network"] = problem.spec().describe();
    auto state =
      options.resume
        ? fiber::rl::load_state<typename Population::State>(checkpoint(), label_)
        : std::nullopt;
    if (state)
      line.say(name_ + ": resumed after round " + std::to_string(state->history.size()));
    else if (options.resume)
      line.say(name_ + ": no checkpoint at " + checkpoint().string() + ": starting anew");
    population_.emplace(problem, population, std::move(state));
  }

  /// Trains to the last round, saves its table, and judges the best member.
  void run() {
    while (population_->round() < options_.rounds) {
      population_->step();
      fiber::rl::save_state(checkpoint(), label_, population_->state());
      show();
    }
    save_history(options_.out / (name_ + ".csv"), population_->history(),
                 options_.population.ranges);
    best_ = population_->best();
    // After the last round nobody that is the best copies another.
    state_ = population_->members()[best_].state;
    judged_ = problem_.judge(state_, judge_episodes);
  }

  void save_policy() const {
    fiber::rl::save_policy(options_.out / "policy", problem_.saved(state_));
  }

  std::size_t best() const { return best_; }
  int restarts() const { return population_->restarts(); }
  const std::vector<fiber::rl::PopulationRound>& history() const {
    return population_->history();
  }
  /// The result in a line.
  std::string described(const std::string& name) const {
    return fiber::rl::detail::formatted(
      "%s: mean return %.1f, mean score of all members %.1f", name.c_str(), judged_,
      mean_of(history().back().scores));
  }

private:
  std::filesystem::path checkpoint() const {
    return options_.out / (name_ + ".checkpoint");
  }

  void show() {
    using fiber::rl::detail::formatted;
    const auto best = population_->best();
    const auto& done = population_->history().back();
    auto all = formatted("%s %3zu/%zu  best %6.4g (member %zu: ", name_.c_str(),
                         static_cast<std::size_t>(population_->round()), options_.rounds,
                         done.scores[best], best);
    for (std::size_t i = 0; i < options_.population.ranges.size(); ++i)
      all += (i == 0 ? "" : ", ") + options_.population.ranges[i].name +
             formatted(" %.3g", done.hyperparameters[best][i]);
    all += ")  pids";
    for (int pid : population_->pids())
      all += " " + std::to_string(pid);
    line_.show(all);
    fiber::publish(name_ + ": best score", done.scores[best]);
  }

  const Problem& problem_;
  const SearchOptions& options_;
  std::string name_;
  fiber::rl::LiveLine& line_;
  fiber::rl::FileLabel label_{.kind = "fiber-pbt-checkpoint"};
  std::optional<Population> population_;
  std::size_t best_ = 0;
  typename Problem::State state_;
  double judged_ = 0;
};

/// Trains a population and, unless told not to, searches at random with the same budget.
/// `trainer` is for the figure's title. Returns the program's exit code.
template <class Problem>
int search(const Problem& problem, const SearchOptions& options,
           const std::string& trainer) {
  fiber::rl::LiveLine line(stdout, 1);
  std::filesystem::create_directories(options.out);
  line.say(problem.environment + ": " + problem.spec().describe() + ", " +
           std::to_string(options.population.members) +
           " members. Any of the pids may be killed: kill -9 PID");
  Search tuned(problem, options, "pbt", true, line);
  tuned.run();
  tuned.save_policy();
  int restarts = tuned.restarts();
  auto result = tuned.described("PBT");
  if (options.random_search) {
    Search random(problem, options, "random", false, line);
    random.run();
    restarts += random.restarts();
    result += "; " + random.described("random search");
    const auto title = "PBT of " + trainer + " on " + problem.environment + ", seed " +
                       std::to_string(options.population.seed);
    say_figure(line, options.out,
               draw_history(options.out, title, tuned.best(), tuned.history(),
                            random.history(), options.population.ranges));
  }
  line.say("policy saved to " + (options.out / "policy").string() + ", tables to " +
           options.out.string() + "; " + std::to_string(restarts) +
           " members were lost and went on");
  line.say(result);
  return 0;
}

} // namespace pbt
