// SPDX-License-Identifier: Apache-2.0
#include "fiber/rl/es_train.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fiber/rl/checkpoint_file.hpp"
#include "fiber/rl/detail/formatted.hpp"
#include "fiber/rl/detail/parse_options.hpp"
#include "fiber/rl/environment_check.hpp"
#include "fiber/rl/environments.hpp"
#include "fiber/rl/evolution_training.hpp"
#include "fiber/rl/plot.hpp"
#include "fiber/rl/saved_policy.hpp"
#include <CLI/CLI.hpp>
#include <boost/serialization/string.hpp>
#include <boost/serialization/vector.hpp>
#include <fiber/fiber.hpp>

#include "rl/es_train/files.hpp"
#include "rl/es_train/progress.hpp"
#include "rl/es_train/worker.hpp"

namespace fiber::rl {
namespace {

namespace fs = std::filesystem;

/// A task's result, and who computed it: only the progress line looks at that.
template <class T>
using Reported = std::pair<T, es_train::Worker>;

Reported<DirectionResult> run_direction(const std::string& environment,
                                        const Generation& generation,
                                        const fiber::SharedArray<float>& noise,
                                        std::uint64_t offset) {
  return {evaluate_direction(*make_environment(environment), generation, noise, offset),
          es_train::this_worker()};
}

Reported<double> run_episode(const std::string& environment, const Generation& generation,
                             Judgement judgement, std::uint64_t episode) {
  return {evaluate_policy(*make_environment(environment), generation, judgement, episode),
          es_train::this_worker()};
}

template <class T>
std::vector<T> unwrapped(std::vector<Reported<T>> results,
                         std::set<es_train::Worker>& workers) {
  std::vector<T> values;
  values.reserve(results.size());
  for (auto& [value, worker] : results) {
    values.push_back(std::move(value));
    workers.insert(worker);
  }
  return values;
}

/// Evaluates on the pool's workers. What all tasks need is bound, and sent once a worker;
/// the noise is shared; a task is eight bytes.
EvolutionEvaluator pool_evaluator(fiber::Pool& pool, const std::string& environment,
                                  const fiber::SharedArray<float>& noise,
                                  std::set<es_train::Worker>& workers) {
  return {.directions =
            [&pool, &workers, environment, noise](
              const Generation& generation, const std::vector<std::uint64_t>& offsets) {
              auto task = fiber::bind(run_direction, environment, generation, noise);
              return unwrapped(pool.map(task, offsets), workers);
            },
          .policy =
            [&pool, &workers, environment](const Generation& generation,
                                           Judgement judgement, std::uint64_t count) {
              std::vector<std::uint64_t> episodes(count);
              std::iota(episodes.begin(), episodes.end(), std::uint64_t{0});
              auto task = fiber::bind(run_episode, environment, generation, judgement);
              return unwrapped(pool.map(task, episodes), workers);
            }};
}

/// Worker processes: so many, or as many as there is work for.
struct Workers {
  std::size_t min = 0, max = 0; ///< Both 0: one a core.
};

/// 0 if it is not a number.
std::size_t whole_number(std::string_view text) {
  std::size_t number = 0;
  const auto end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, number);
  return result.ec == std::errc() && result.ptr == end ? number : 0;
}

/// Reads "N" or "MIN..MAX". Throws CLI::ValidationError for anything else.
Workers parsed_workers(std::string_view text) {
  const auto dots = text.find("..");
  const auto most = dots == std::string_view::npos ? text : text.substr(dots + 2);
  const Workers workers{whole_number(text.substr(0, dots)), whole_number(most)};
  if (workers.min < 1 || workers.max < workers.min || workers.max > 100000)
    throw CLI::ValidationError("--workers", "expected a number, such as 8, or a range, "
                                            "such as 8..512, not \"" +
                                              std::string(text) + '"');
  return workers;
}

struct Settings {
  EvolutionTrainingOptions training;
  Workers workers;
  bool resume = false;
  fs::path out = "out";
  fs::path checkpoint; ///< Default: in `out`.
};

void save_result(const Settings& settings, const EvolutionTraining& training,
                 es_train::Progress& progress) {
  const auto& options = training.options();
  const auto normaliser = training.generation().normaliser;
  const EvolvedPolicy evolved(training.policy(), training.parameters(), normaliser);
  const auto parameters = evolved.network_parameters();
  const auto policy = settings.out / "policy.txt";
  es_train::save_policy(policy, {.environment = options.environment,
                                 .policy = training.policy(),
                                 .normaliser = normaliser,
                                 .parameters = {parameters.begin(), parameters.end()}});
  const auto all = evolved.spec_parameters();
  save_policy(settings.out / "policy", {.environment = options.environment,
                                        .spec = training.policy(),
                                        .parameters = {all.begin(), all.end()},
                                        .observations = normaliser});
  progress.say("policy saved to " + policy.string());
  const auto csv = settings.out / "curve.csv";
  const auto png = settings.out / "curve.png";
  es_train::save_curve(csv, training.state().curve);
  const auto title = "Evolution strategies on " + options.environment + ", seed " +
                     std::to_string(options.seed);
  if (plot_csv(csv, png,
               {.title = title, .x_label = "iteration", .solved_at = options.solved_at},
               {{2, "candidates: mean of the population"},
                {4, "the policy: mean of fresh episodes"}}))
    progress.say("learning curve saved to " + csv.string() + " and " + png.string());
  else
    progress.say("learning curve saved to " + csv.string() +
                 "; gnuplot could not draw it: is it installed?");
}

/// Shows the iteration on the session's live page. The policy is not played in each.
void publish_point(const CurvePoint& point) {
  if (!std::isnan(point.policy_mean))
    fiber::publish("return", point.policy_mean);
  fiber::publish("return of candidates", point.population_mean);
  fiber::publish("episodes/s", static_cast<double>(point.episodes) / point.seconds);
}

/// Prints how it ended. Returns the program's exit code.
int conclude(const EvolutionTraining& training, es_train::Progress& progress) {
  const auto& last = training.state().curve.back();
  const bool mark = training.options().solved_at.has_value();
  if (training.state().solved) {
    progress.say(detail::formatted(
      "SOLVED after %zu iteration%s: mean return %.1f over %zu fresh episodes, "
      "%.1f over %zu more",
      static_cast<std::size_t>(last.iteration), last.iteration == 1 ? "" : "s",
      last.policy_mean, training.options().evaluations, training.state().confirmed_mean,
      training.options().evaluations));
  } else {
    progress.say(detail::formatted("%s after %zu iteration%s: mean return %.4g",
                                   mark ? "NOT SOLVED" : "done",
                                   static_cast<std::size_t>(last.iteration),
                                   last.iteration == 1 ? "" : "s", last.policy_mean));
  }
  return training.state().solved || !mark ? 0 : 1;
}

int train(const Settings& settings) {
  const auto started = std::chrono::steady_clock::now();
  const auto& options = settings.training;
  const auto checkpoint =
    settings.checkpoint.empty() ? settings.out / "checkpoint" : settings.checkpoint;
  fs::create_directories(settings.out);
  if (checkpoint.has_parent_path())
    fs::create_directories(checkpoint.parent_path());

  check_environment(options.environment);
  const auto spaces = make_environment(options.environment)->spaces();
  es_train::Progress progress(stdout);
  const auto noise = fiber::share( // The only copy on this machine.
    std::span<const float>(make_noise_table(options.table_size, options.seed)));
  const FileLabel label{
    .kind = "fiber-es-checkpoint", .version = 2, .settings = options.settings()};
  auto state = settings.resume ? load_state<EvolutionTrainingState>(checkpoint, label)
                               : std::nullopt;
  if (state)
    progress.say("resumed after iteration " + std::to_string(state->search.iteration));
  else if (settings.resume)
    progress.say("no checkpoint at " + checkpoint.string() + ": starting anew");
  const auto seconds_before =
    state && !state->curve.empty() ? state->curve.back().seconds : 0.0;
  auto training = state ? EvolutionTraining(options, spaces, noise, std::move(*state))
                        : EvolutionTraining(options, spaces, noise);

  const auto [fewest, most] = settings.workers.max > 0
                                ? settings.workers
                                : Workers{fiber::cpu_count(), fiber::cpu_count()};
  // More than one kills by hand; an environment that crashes soon comes to its end.
  fiber::Pool pool({.workers = fewest, .max_retries = 20});
  if (fewest < most)
    pool.autoscale(fewest, most);
  std::set<es_train::Worker> workers;
  const auto evaluator = pool_evaluator(pool, options.environment, noise, workers);
  progress.say(
    options.environment + ", seed " + std::to_string(options.seed) + ", " +
    std::to_string(fewest) + (fewest < most ? " to " + std::to_string(most) : "") +
    " workers. mean: return of the policy in " + std::to_string(options.evaluations) +
    " fresh episodes;\nbest: of the candidates. Any of the pids may be killed: "
    "kill -9 PID");

  while (!training.finished()) {
    workers.clear();
    auto& point = training.step(evaluator);
    point.seconds =
      seconds_before +
      std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
    save_state(checkpoint, label, training.state());
    progress.show(point, options.iterations, {workers.begin(), workers.end()});
    publish_point(point);
  }
  const int code = conclude(training, progress);
  save_result(settings, training, progress);
  const auto stats = pool.stats();
  progress.say(std::to_string(stats.workers_lost) + " workers lost, " +
               std::to_string(stats.retries) + " retries");
  return code;
}

std::string listed(const std::vector<std::string>& names) {
  std::string list;
  for (const auto& name : names)
    list += (list.empty() ? "" : ", ") + name;
  return list;
}

/// A variant of --ars; none for an empty name. Throws CLI::ValidationError for another
/// name.
std::optional<ArsVariant> parsed_variant(const std::string& name) {
  static const std::map<std::string, std::optional<ArsVariant>> variants{
    {"", {}},
    {"v1", ArsVariant::v1},
    {"v1-t", ArsVariant::v1_t},
    {"v2", ArsVariant::v2},
    {"v2-t", ArsVariant::v2_t}};
  const auto found = variants.find(name);
  if (found == variants.end())
    throw CLI::ValidationError("--ars",
                               "expected v1, v1-t, v2 or v2-t, not \"" + name + '"');
  return found->second;
}

/// A flag that leaves `value` empty if it is not given. CLI::App::add_flag() of CLI11 2.1
/// makes that false.
CLI::Option* add_switch(CLI::App& app, const std::string& names,
                        std::optional<bool>& value, const std::string& what) {
  return app.add_flag_function(
    names, [&value](std::int64_t count) { value = count > 0; }, what);
}

/// What the command line may say.
struct Options {
  std::string environment = "cartpole";
  Settings settings;
  std::optional<std::size_t> iterations;
  std::optional<std::size_t> directions;
  std::optional<std::size_t> episodes;
  std::optional<double> learning_rate;
  std::optional<float> sigma;
  std::optional<std::size_t> evaluations;
  std::optional<std::size_t> evaluate_every;
  std::optional<bool> normalise;
  std::optional<double> counted_share;
  std::vector<std::size_t> hidden;
  std::uint64_t seed = 1;

  bool ars = false;
  std::optional<ArsVariant> ars_variant;
  std::optional<Optimiser> optimiser;
  std::optional<std::size_t> top;
  std::optional<bool> normalise_by_deviation, weights_only;
  std::optional<double> alive_bonus_offset, observation_clip;

  void add_to(CLI::App& app);
  void add_search_to(CLI::App& app);
  void add_ars_to(CLI::App& app);
  /// The settings, with the defaults of the environment where nothing was said.
  Settings resolve() const;
};

void Options::add_to(CLI::App& app) {
  app
    .add_option("--env", environment,
                "What to learn: " + listed(environment_names()) +
                  ", or a Gymnasium id where GymEnv is built")
    ->capture_default_str();
  app.add_option_function<std::string>(
    "--workers",
    [this](const std::string& text) { settings.workers = parsed_workers(text); },
    "Worker processes, such as 8; or 8..512: as many as there is work for [default: one "
    "a "
    "core]");
  app.add_option("--iterations", iterations, "Iterations at most [default: by --env]")
    ->check(CLI::PositiveNumber);
  app
    .add_option(
      "--seed", seed,
      "The same seed gives the same policy, byte for byte, whatever the number of "
      "workers and whoever died")
    ->capture_default_str();
  app.add_option("--out", settings.out, "Folder for policy.txt, curve.csv and curve.png")
    ->capture_default_str();
  app.add_option(
    "--checkpoint", settings.checkpoint,
    "File to save the run to after each iteration [default: OUT/checkpoint]");
  app.add_flag(
    "--resume", settings.resume,
    "Go on from the checkpoint, if there is one; the end is the same as that of "
    "an undisturbed run");
  add_search_to(app);
  add_ars_to(app);
}

void Options::add_search_to(CLI::App& app) {
  const auto search = "The search (its defaults depend on --env)";
  app
    .add_option("--directions", directions,
                "Directions tried in an iteration, each forwards and backwards")
    ->check(CLI::PositiveNumber)
    ->group(search);
  app.add_option("--episodes", episodes, "Episodes a candidate is judged by")
    ->check(CLI::PositiveNumber)
    ->group(search);
  app.add_option("--learning-rate", learning_rate, "Step of the optimiser")
    ->check(CLI::PositiveNumber)
    ->group(search);
  app
    .add_option(
      "--hidden", hidden,
      "Units in each hidden layer of the policy, such as --hidden 40 40; 0: none")
    ->group(search);
  add_switch(app, "--normalise,!--no-normalise", normalise,
             "Scale observations by the mean and deviation of those seen so far")
    ->group(search);
  app
    .add_option(
      "--counted-share", counted_share,
      "Share of the directions whose observations count for --normalise, above 0 "
      "to 1 [default: 0.05]")
    ->group(search);
  app
    .add_option("--evaluations", evaluations,
                "Fresh episodes that judge the policy in an evaluation")
    ->check(CLI::PositiveNumber)
    ->group(search);
  app
    .add_option("--evaluate-every", evaluate_every,
                "Iterations from one evaluation to the next. All workers wait for it, so "
                "with hundreds of workers evaluate seldom [default: 1]")
    ->check(CLI::PositiveNumber)
    ->group(search);
  app.add_option("--sigma", sigma, "Distance of the candidates from the policy")
    ->check(CLI::PositiveNumber)
    ->group(search);
}

void Options::add_ars_to(CLI::App& app) {
  const auto group = "Augmented random search, or parts of it";
  app
    .add_option_function<std::string>(
      "--ars",
      [this](const std::string& name) {
        ars = true;
        ars_variant = parsed_variant(name);
      },
      "Search as Mania et al. 2018, in a variant: v1, v1-t, v2 or v2-t [default: by "
      "--env]")
    ->expected(0, 1)
    ->group(group);
  app.add_option("--optimiser", optimiser, "adam; sgd: a step along the gradient")
    ->transform(CLI::CheckedTransformer(std::map<std::string, Optimiser>{
      {"adam", Optimiser::adam}, {"sgd", Optimiser::sgd}}))
    ->group(group);
  app
    .add_option("--top", top,
                "Only so many directions count: those with the best candidates; 0: all")
    ->group(group);
  add_switch(app, "--normalise-by-deviation,!--ranks", normalise_by_deviation,
             "Weigh directions by returns divided by their deviation, or by ranks")
    ->group(group);
  add_switch(app, "--weights-only,!--biases", weights_only,
             "The linear policy has no biases, and its weights start at 0")
    ->group(group);
  app
    .add_option("--alive-bonus-offset", alive_bonus_offset,
                "Added to each reward of the candidates: -1 cancels a bonus of 1")
    ->group(group);
  app
    .add_option("--observation-clip", observation_clip,
                "Limit of observations with --normalise; inf: none [default: 5]")
    ->check(CLI::PositiveNumber)
    ->group(group);
}

Settings Options::resolve() const {
  auto resolved = settings;
  auto& training = resolved.training;
  training = ars ? ars_options(environment, ars_variant) : evolution_options(environment);
  training.alive_bonus_offset = alive_bonus_offset.value_or(training.alive_bonus_offset);
  training.observation_clip = observation_clip.value_or(training.observation_clip);
  training.seed = seed;
  training.iterations = iterations.value_or(training.iterations);
  training.episodes = episodes.value_or(training.episodes);
  training.evaluations = evaluations.value_or(training.evaluations);
  training.evaluate_every = evaluate_every.value_or(training.evaluate_every);
  training.normalise = normalise.value_or(training.normalise);
  training.counted_share = counted_share.value_or(training.counted_share);
  if (!hidden.empty())
    training.hidden = hidden;
  std::erase(training.hidden, 0);
  training.weights_only =
    weights_only.value_or(training.weights_only && training.hidden.empty());
  auto& search = training.search;
  search.directions = directions.value_or(search.directions);
  search.learning_rate = learning_rate.value_or(search.learning_rate);
  search.sigma = sigma.value_or(search.sigma);
  search.optimiser = optimiser.value_or(search.optimiser);
  search.top = top.value_or(std::min(search.top, search.directions));
  search.normalise_by_deviation =
    normalise_by_deviation.value_or(search.normalise_by_deviation);
  return resolved;
}

} // namespace

int run_es_train(int argc, char** argv) {
  // Parsed first, so that --help starts no worker; a worker parses the same line and goes
  // on to init, which it never leaves.
  CLI::App app(
    "Trains a policy by evolution strategies on a pool of worker processes.\n"
    "Ends with 0 if the task was solved, or if the iterations were run and the "
    "environment has no mark; with 1 if it was not solved.");
  app.option_defaults()->take_last();
  Options options;
  options.add_to(app);
  if (const auto ended = detail::parse_options(app, argc, argv))
    return *ended;

  try {
    auto session = fiber::init(argc, argv);
    return train(options.resolve());
  } catch (const std::exception& error) {
    std::cerr << "es_train: " << error.what() << '\n';
    return 2;
  }
}

} // namespace fiber::rl
