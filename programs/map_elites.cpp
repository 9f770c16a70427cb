// SPDX-License-Identifier: Apache-2.0
// Landings of a lunar lander that are good and different: CMA-ME, or MAP-Elites, on a
// pool. land() and the loop in run() are all that a program of your own needs.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <boost/serialization/vector.hpp>
#include <fiber/fiber.hpp>
#include <fiber/rl/checkpoint_file.hpp>
#include <fiber/rl/detail/formatted.hpp>
#include <fiber/rl/detail/number_text.hpp>
#include <fiber/rl/detail/parse_options.hpp>
#include <fiber/rl/environments.hpp>
#include <fiber/rl/evolution_evaluation.hpp>
#include <fiber/rl/live_line.hpp>
#include <fiber/rl/map_elites.hpp>
#include <fiber/rl/saved_policy.hpp>
#include <fiber/rl/training_log.hpp>

namespace fs = std::filesystem;
namespace rl = fiber::rl;

using Solution = std::vector<double>;
using Emitter = rl::MapElitesOptions::Emitter;

constexpr const char* environment_name = "lunar_lander";
constexpr double min_return = -600; // So that each further elite raises the QD score.

rl::PolicySpec linear_policy(const rl::AnyEnvironment& environment) {
  return rl::evolved_policy(environment.spaces(), {});
}

std::vector<float> weights_of(const Solution& solution) {
  return {solution.begin(), solution.end()};
}

/// Plays an episode with a linear policy. The measures say how the lander first touches
/// the ground: where, and how fast it falls. Of one that never does: where it ends, and
/// how fast it fell at most.
rl::Behaviour land(std::uint64_t seed, const Solution& weights) {
  constexpr std::size_t x = 0, fall = 3, left_leg = 6, right_leg = 7;
  const auto environment = rl::make_environment(environment_name);
  rl::EvolvedPolicy policy(linear_policy(*environment), weights_of(weights), {});
  std::vector<float> seen(environment->spaces().observation_size());
  environment->reset(seed);
  environment->observe(seen);
  double total = 0, fastest = 0;
  std::optional<std::vector<double>> touch;
  for (rl::Step step; !step.terminated && !step.truncated;) {
    step = environment->step(policy.act(seen));
    environment->observe(seen);
    total += step.reward;
    fastest = std::min<double>(fastest, seen[fall]);
    if (!touch && (seen[left_leg] > 0 || seen[right_leg] > 0))
      touch = {seen[x], seen[fall]};
  }
  return {.objective = total, .measures = touch.value_or(Solution{seen[x], fastest})};
}

struct Settings {
  std::string method = "cma-me";
  std::size_t emitters = 5, batch = 30, workers = 0;
  double sigma = 1;
  std::uint64_t iterations = 300, seed = 1, episode = 52;
  fs::path out = "out";
  bool resume = false;
};

const std::map<std::string, Emitter> methods = {{"cma-me", Emitter::improvement},
                                                {"map-elites", Emitter::gaussian}};

rl::MapElitesOptions options_of(const Settings& settings) {
  return {
    .axes = {{.cells = 50, .low = -1, .high = 1}, {.cells = 50, .low = -3, .high = 0}},
    .emitter = methods.at(settings.method),
    .emitters = settings.emitters,
    .batch = settings.batch,
    .sigma = settings.sigma};
}

rl::FileLabel label_of(const Settings& settings) {
  return {.kind = "fiber-map-elites-checkpoint",
          .settings = {{"method", settings.method},
                       {"emitters", std::to_string(settings.emitters)},
                       {"batch", std::to_string(settings.batch)},
                       {"sigma", rl::detail::number_text(settings.sigma)},
                       {"seed", std::to_string(settings.seed)},
                       {"episode", std::to_string(settings.episode)}}};
}

/// Writes the elites as a table and as a picture, and the best one as a policy.
void save_archive(const Settings& settings, const rl::GridArchive& archive,
                  rl::LiveLine& line) {
  std::string table = "return,x position,y velocity\n";
  for (const auto& [cell, elite] : archive.elites())
    table += rl::detail::shown(elite.behaviour.objective) + ',' +
             rl::detail::shown(elite.behaviour.measures[0]) + ',' +
             rl::detail::shown(elite.behaviour.measures[1]) + '\n';
  rl::write_atomically(settings.out / "archive.csv", table);
  const auto spec = linear_policy(*rl::make_environment(environment_name));
  const rl::EvolvedPolicy best(spec, weights_of(archive.best().parameters), {});
  const auto parameters = best.spec_parameters();
  rl::save_policy(settings.out / "policy",
                  {.environment = environment_name,
                   .spec = spec,
                   .parameters = {parameters.begin(), parameters.end()}});
  const auto png = settings.out / "archive.png";
  const bool drawn = rl::draw_archive(png, archive,
                                      {.title = "Landings found by " + settings.method +
                                                ", seed " + std::to_string(settings.seed),
                                       .x_label = "x position at first contact",
                                       .y_label = "y velocity at first contact",
                                       .objective_label = "return"});
  line.say(
    "elites saved to " + (settings.out / "archive.csv").string() +
    (drawn ? " and " + png.string() : "; gnuplot could not draw them: is it installed?"));
}

rl::MapElites begin(const Settings& settings, rl::LiveLine& line) {
  const auto checkpoint = settings.out / "checkpoint";
  const auto size =
    rl::evolved_weight_count(linear_policy(*rl::make_environment(environment_name)));
  if (settings.resume) {
    if (auto state = rl::load_state<rl::MapElitesState>(checkpoint, label_of(settings))) {
      line.say("resumed after iteration " + std::to_string(state->iteration));
      return {Solution(size), options_of(settings), settings.seed, std::move(*state)};
    }
    line.say("no checkpoint at " + checkpoint.string() + ": starting anew");
  }
  return {Solution(size), options_of(settings), settings.seed};
}

void run(const Settings& settings) {
  fs::create_directories(settings.out);
  rl::LiveLine line(stdout, 50);
  auto search = begin(settings, line);
  line.say(settings.method + ": " + std::to_string(settings.emitters) + " emitters of " +
           std::to_string(settings.batch) + " solutions");
  const auto episodes = [&] {
    return search.iteration() * settings.emitters * settings.batch;
  };
  rl::TrainingLogOptions log_options{.folder = settings.out,
                                     .columns = {"coverage", "QD score", "best return"},
                                     .tensorboard = false};
  if (search.iteration() > 0)
    log_options.resume_after = episodes();
  rl::TrainingLog log(log_options);
  fiber::Pool pool(
    {.workers = settings.workers > 0 ? settings.workers : fiber::cpu_count(),
     .max_retries = 20});
  const auto task = fiber::bind(land, settings.episode);
  while (search.iteration() < settings.iterations) {
    search.tell(pool.map(task, search.ask()));
    const auto& archive = search.archive();
    const auto best = archive.best().behaviour.objective;
    const auto score = archive.qd_score(min_return);
    log.add(episodes(), std::vector{archive.coverage(), score, best});
    rl::save_state(settings.out / "checkpoint", label_of(settings), search.state());
    line.show(rl::detail::formatted(
      "%7zu episodes  coverage %.4f  QD score %.4g  best return %.1f",
      static_cast<std::size_t>(episodes()), archive.coverage(), score, best));
  }
  save_archive(settings, search.archive(), line);
  line.say(rl::detail::formatted(
    "%zu elites, coverage %.4f, QD score %.6g, best return %.1f",
    search.archive().elites().size(), search.archive().coverage(),
    search.archive().qd_score(min_return), search.archive().best().behaviour.objective));
}

int main(int argc, char** argv) {
  Settings settings;
  CLI::App app{"Finds landings of a lunar lander that are good and different: CMA-ME "
               "(Fontaine et al. 2020) or MAP-Elites (Mouret and Clune 2015) on a pool."};
  app.option_defaults()->take_last();
  auto add = [&](const char* name, auto& value, const char* what) {
    return app.add_option(name, value, what)->capture_default_str();
  };
  add("--method", settings.method, "How new solutions come from elites")
    ->check(CLI::IsMember(methods));
  add("--emitters", settings.emitters, "Searches that fill one archive")
    ->check(CLI::PositiveNumber);
  add("--batch", settings.batch, "Solutions of each emitter in an iteration")
    ->check(CLI::Range(4, 1'000'000));
  add("--sigma", settings.sigma, "First step size")->check(CLI::PositiveNumber);
  add("--iterations", settings.iterations, "How many")->check(CLI::PositiveNumber);
  app.add_option("--workers", settings.workers, "Worker processes [default: one a core]")
    ->check(CLI::PositiveNumber);
  add("--seed", settings.seed, "The same seed finds the same, with any workers");
  add("--episode", settings.episode, "The seed of the one episode that all play");
  add("--out", settings.out, "Folder for archive.csv, archive.png, policy, curve.csv");
  app.add_flag("--resume", settings.resume, "Go on from the checkpoint in OUT");
  if (const auto ended = rl::detail::parse_options(app, argc, argv))
    return *ended;

  try {
    auto session = fiber::init(argc, argv); // In a worker, this call never returns.
    run(settings);
  } catch (const std::exception& error) {
    std::cerr << "map_elites: " << error.what() << '\n';
    return 2;
  }
}
