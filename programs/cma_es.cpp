// SPDX-License-Identifier: Apache-2.0
// CMA-ES on a pool: minimises a function whose values the workers compute. search() is
// all that a program of your own needs.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <map>
#include <numbers>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <boost/serialization/vector.hpp>
#include <fiber/fiber.hpp>
#include <fiber/rl/checkpoint_file.hpp>
#include <fiber/rl/cma_es.hpp>
#include <fiber/rl/detail/formatted.hpp>
#include <fiber/rl/detail/parse_options.hpp>
#include <fiber/rl/live_line.hpp>
#include <fiber/rl/training_log.hpp>

namespace fs = std::filesystem;
namespace rl = fiber::rl;

using Point = std::vector<double>;

double sphere(const Point& x) {
  double sum = 0;
  for (double each : x)
    sum += each * each;
  return sum;
}

double rosenbrock(const Point& x) { // A curved valley; the minimum is at (1, ... 1).
  double sum = 0;
  for (std::size_t i = 0; i + 1 < x.size(); ++i)
    sum += 100 * std::pow(x[i + 1] - x[i] * x[i], 2) + std::pow(1 - x[i], 2);
  return sum;
}

double rastrigin(const Point& x) { // A local minimum at each point of whole numbers.
  double sum = 0;
  for (double each : x)
    sum += 10 + each * each - 10 * std::cos(2 * std::numbers::pi * each);
  return sum;
}

/// Draws what is saved, and says how it goes on.
struct Watcher {
  rl::TrainingLog& log;
  rl::LiveLine& line;
  fs::path checkpoint;
  rl::FileLabel label;

  void operator()(const rl::CmaEs& search) {
    const auto& state = search.state();
    const auto evaluations = search.generation() * search.parameters().population;
    log.add(evaluations, std::vector{state.best_value, state.sigma});
    rl::save_state(checkpoint, label, state);
    line.show(rl::detail::formatted("%7zu evaluations  best %.6g  step size %.3g",
                                    static_cast<std::size_t>(evaluations),
                                    state.best_value, state.sigma));
  }
};

/// Until nothing is to be gained; `told` sees each generation.
template <class Function, class Told>
void search(rl::CmaEs& es, Function f, fiber::Pool& pool, std::uint64_t generations,
            Told told) {
  while (!es.stop_reason() && es.generation() < generations) {
    es.tell(pool.map(f, es.ask()));
    told(es);
  }
}

struct Settings {
  std::string function = "rosenbrock";
  std::size_t dimension = 10, population = 0, workers = 0;
  double start = 0, sigma = 0.5;
  std::uint64_t seed = 1, generations = 10'000;
  fs::path out = "out";
  bool resume = false;
};

const std::map<std::string, double (*)(const Point&)> functions = {
  {"sphere", sphere}, {"rosenbrock", rosenbrock}, {"rastrigin", rastrigin}};

rl::FileLabel label_of(const Settings& settings) {
  return {.kind = "fiber-cma-es-checkpoint",
          .settings = {{"function", settings.function},
                       {"dimension", std::to_string(settings.dimension)},
                       {"population", std::to_string(settings.population)},
                       {"start", rl::detail::formatted("%f", settings.start)},
                       {"sigma", rl::detail::formatted("%f", settings.sigma)},
                       {"seed", std::to_string(settings.seed)}}};
}

void conclude(const rl::CmaEs& es, rl::LiveLine& line) {
  const auto& state = es.state();
  std::string place;
  for (std::size_t i = 0; i < std::min<std::size_t>(state.best.size(), 4); ++i)
    place += (i == 0 ? "" : ", ") + rl::detail::formatted("%f", state.best[i]);
  line.say(rl::detail::formatted(
    "minimum %.3g at (%s%s) after %zu evaluations: %s", state.best_value, place.c_str(),
    state.best.size() > 4 ? ", ..." : "",
    static_cast<std::size_t>(es.generation() * es.parameters().population),
    es.stop_reason().value_or("the generations are used up").c_str()));
}

void run(const Settings& settings) {
  const auto checkpoint = settings.out / "checkpoint";
  const auto label = label_of(settings);
  fs::create_directories(settings.out);
  auto state =
    settings.resume ? rl::load_state<rl::CmaState>(checkpoint, label) : std::nullopt;
  rl::CmaEs es = state ? rl::CmaEs(std::move(*state), settings.seed, settings.population)
                       : rl::CmaEs(Point(settings.dimension, settings.start),
                                   settings.sigma, settings.seed, settings.population);
  const auto population = es.parameters().population;
  rl::LiveLine line(stdout, 50);
  line.say(settings.function + " of " + std::to_string(settings.dimension) +
           " variables, " + std::to_string(population) + " candidates a generation");
  rl::TrainingLogOptions options;
  options.folder = settings.out;
  options.columns = {"best value so far", "step size"};
  options.tensorboard = false;
  if (es.generation() > 0) {
    options.resume_after = es.generation() * population;
    line.say("resumed after generation " + std::to_string(es.generation()));
  } else if (settings.resume) {
    line.say("no checkpoint at " + checkpoint.string() + ": starting anew");
  }
  rl::TrainingLog log(options);
  fiber::Pool pool(
    {.workers = settings.workers > 0 ? settings.workers : fiber::cpu_count(),
     .max_retries = -1});
  search(es, functions.at(settings.function), pool, settings.generations,
         Watcher{log, line, checkpoint, label});
  const bool drawn =
    log.plot({"step size", "best value so far"},
             {.title = "CMA-ES on " + settings.function + ", " +
                       std::to_string(settings.dimension) + " variables, seed " +
                       std::to_string(settings.seed),
              .x_label = "evaluations",
              .y_label = "best value so far, and step size",
              .logarithmic_y = true});
  line.say("curve saved to " + log.csv().string() +
           (drawn ? " and " + (settings.out / "curve.png").string()
                  : "; gnuplot could not draw it: is it installed?"));
  conclude(es, line);
}

int main(int argc, char** argv) {
  Settings settings;
  CLI::App app{"CMA-ES (Hansen, arXiv 1604.00772) on a pool: minimises a function."};
  app.option_defaults()->take_last();
  app.add_option("--function", settings.function, "What to minimise")
    ->check(CLI::IsMember(functions))
    ->capture_default_str();
  auto add = [&](const char* name, auto& value, const char* what) {
    return app.add_option(name, value, what)->capture_default_str();
  };
  add("--dimension", settings.dimension, "Variables")->check(CLI::Range(1, 1000));
  add("--start", settings.start, "Where each variable starts");
  add("--sigma", settings.sigma, "First step size: about a third of the way to go")
    ->check(CLI::PositiveNumber);
  app
    .add_option("--population", settings.population,
                "Candidates in a generation [default: 4 + 3 ln dimension]")
    ->check(CLI::Range(4, 1'000'000));
  add("--generations", settings.generations, "At most")->check(CLI::PositiveNumber);
  app.add_option("--workers", settings.workers, "Worker processes [default: one a core]")
    ->check(CLI::PositiveNumber);
  add("--seed", settings.seed, "The same seed finds the same, with any workers");
  add("--out", settings.out, "Folder for curve.csv, curve.png and checkpoint");
  app.add_flag("--resume", settings.resume, "Go on from the checkpoint in OUT");
  if (const auto ended = rl::detail::parse_options(app, argc, argv))
    return *ended;

  auto session = fiber::init(argc, argv); // In a worker, this call never returns.
  try {
    run(settings);
  } catch (const std::exception& error) {
    std::cerr << "cma_es: " << error.what() << '\n';
    return 2;
  }
}
