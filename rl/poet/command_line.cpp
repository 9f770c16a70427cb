// SPDX-License-Identifier: Apache-2.0
#include "fiber/rl/poet.hpp"

#include <atomic>
#include <csignal>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fiber/fiber.hpp>

#include "fiber/rl/detail/parse_options.hpp"
#include "rl/poet/files.hpp"
#include "rl/poet/run.hpp"

namespace fiber::rl {
namespace {

/// The signal that is to end the program; 0: none came.
std::atomic<int> stop_signal = 0;

struct CommandLine {
  poet::PoetOptions options;
  poet::RunSettings settings;
  std::string workers;
  double minutes = 0;
  std::filesystem::path play, gif;
};

/// Adds an option that shows its default.
template <class Value>
CLI::Option* add(CLI::App& app, const char* name, Value& value, const char* group,
                 const std::string& what) {
  return app.add_option(name, value, what)->group(group)->capture_default_str();
}

void add_run(CLI::App& app, CommandLine& line) {
  const auto* group = "The run";
  add(app, "--seed", line.options.seed, group,
      "The same seed gives the same run, byte for byte, whatever the number of workers "
      "and whoever died");
  add(app, "--iterations", line.options.iterations, group, "Iterations at most")
    ->check(CLI::PositiveNumber);
  add(app, "--minutes", line.minutes, group,
      "End after so many minutes, at the end of an iteration; 0: no limit. 0.5 is half a "
      "minute")
    ->check(CLI::NonNegativeNumber);
  app
    .add_option("--workers", line.workers,
                "Worker processes: 4; or 2..8, from 2 for one environment up to 8 for "
                "--max-environments [default: one a core]")
    ->group(group);
  add(app, "--out", line.settings.out, group,
      "Folder for checkpoint, returns.csv, events.csv, environments.png and agents/");
  app
    .add_flag("--resume", line.settings.resume,
              "Go on from the checkpoint in OUT, if there is one; the end is the same as "
              "that of an undisturbed run")
    ->group(group);
  add(app, "--save-every", line.settings.save_every, group,
      "Iterations between two checkpoints")
    ->check(CLI::PositiveNumber);
}

void add_search(CLI::App& app, poet::PoetOptions& options) {
  const auto* group = "The search of each pair (an evolution strategy)";
  add(app, "--directions", options.directions, group,
      "Directions tried in an iteration, each forwards and backwards")
    ->check(CLI::PositiveNumber);
  add(app, "--evaluations", options.evaluations, group,
      "Episodes whose mean return is an agent's score")
    ->check(CLI::PositiveNumber);
  add(app, "--max-steps", options.max_steps, group, "Steps of an episode at most")
    ->check(CLI::PositiveNumber);
  add(app, "--hidden", options.hidden, group,
      "Units in each hidden layer of the agents, such as --hidden 40 40; 0: none");
  add(app, "--sigma", options.sigma, group,
      "Distance of the candidates from the agent, at first")
    ->check(CLI::PositiveNumber);
  add(app, "--sigma-decay", options.sigma_decay, group, "Its factor in each iteration")
    ->check(CLI::PositiveNumber);
  add(app, "--least-sigma", options.min_sigma, group, "Where the decay ends")
    ->check(CLI::PositiveNumber);
  add(app, "--learning-rate", options.learning_rate, group, "Step of Adam, at first")
    ->check(CLI::PositiveNumber);
  add(app, "--learning-rate-decay", options.learning_rate_decay, group,
      "Its factor in each iteration")
    ->check(CLI::PositiveNumber);
  add(app, "--least-learning-rate", options.min_learning_rate, group,
      "Where the decay ends")
    ->check(CLI::PositiveNumber);
}

void add_environments(CLI::App& app, poet::PoetOptions& options) {
  const auto* group = "Transfers and environments";
  add(app, "--transfer-every", options.transfer_every, group,
      "Iterations between two rounds of transfers")
    ->check(CLI::PositiveNumber);
  app
    .add_flag("--proposals,!--no-proposals", options.proposals,
              "Try agents elsewhere also after a step of the search there [default: yes]")
    ->group(group);
  add(app, "--mutate-every", options.mutate_every, group,
      "Iterations between two rounds of new environments")
    ->check(CLI::PositiveNumber);
  add(app, "--reproduce-at", options.reproduce_at, group,
      "Score at which an environment may have children");
  add(app, "--least-return", options.min_return, group,
      "Children in which agents get less are too hard");
  add(app, "--most-return", options.max_return, group,
      "Children in which agents get more are too easy");
  add(app, "--children", options.children, group, "Children made in a round")
    ->check(CLI::PositiveNumber);
  add(app, "--admitted", options.admitted, group, "Children admitted in a round at most")
    ->check(CLI::PositiveNumber);
  add(app, "--max-environments", options.max_environments, group,
      "Environments at most; then the oldest is retired")
    ->check(CLI::PositiveNumber);
  add(app, "--neighbours", options.neighbours, group,
      "Nearest environments whose mean distance is the novelty of a child")
    ->check(CLI::PositiveNumber);
  std::string names;
  for (const auto name : poet::gene_names)
    names += (names.empty() ? "" : ", ") + std::string(name);
  add(app, "--genes", options.genes, group, "What mutation may change, of " + names)
    ->delimiter(',')
    ->check(CLI::IsMember(
      std::vector<std::string>(poet::gene_names.begin(), poet::gene_names.end())));
}

void add_play(CLI::App& app, CommandLine& line) {
  const auto* group = "Instead of a run";
  auto* play =
    app.add_option("--play", line.play, "Play an agent that a run saved, OUT/agents/E1")
      ->group(group);
  app.add_option("--gif", line.gif, "Write its episode as an animated GIF file")
    ->group(group)
    ->needs(play);
}

/// The parts that are not just one option. Throws std::invalid_argument.
void complete(CommandLine& line) {
  std::erase(line.options.hidden, 0);
  line.settings.workers =
    line.workers.empty()
      ? poet::WorkerRange{.least = fiber::cpu_count(), .most = fiber::cpu_count()}
      : poet::parse_workers(line.workers);
  line.settings.seconds = line.minutes * 60;
  line.options.check();
}

void listen_for_the_end() {
  const auto stop = [](int signal) { stop_signal = signal; };
  std::signal(SIGINT, stop);
  std::signal(SIGTERM, stop);
}

} // namespace

int run_poet(int argc, char** argv) {
  // Parsed first, so that --help starts no worker; a worker parses the same line and goes
  // on to init, which it never leaves.
  CLI::App app(
    "POET, the paired open-ended trailblazer: invents terrains for a two-legged "
    "walker and optimises an agent on each, on a pool of worker processes.");
  app.option_defaults()->take_last();
  CommandLine line;
  add_run(app, line);
  add_search(app, line.options);
  add_environments(app, line.options);
  add_play(app, line);
  if (const auto ended = detail::parse_options(app, argc, argv))
    return *ended;
  try {
    complete(line);
    if (!line.play.empty()) {
      poet::play_agent(line.play, line.options.seed, line.gif);
      return 0;
    }
    auto session = fiber::init(argc, argv);
    listen_for_the_end();
    poet::run(line.options, line.settings, stop_signal);
  } catch (const std::exception& error) {
    std::cerr << "poet: " << error.what() << '\n';
    return 2;
  }
  if (const int signal = stop_signal; signal != 0) { // Ends as it would have without us.
    std::fflush(stdout);
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
  return 0;
}

} // namespace fiber::rl
