// SPDX-License-Identifier: Apache-2.0
#include "fiber/rl/ppo.hpp"

#include <atomic>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <iostream>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fiber/fiber.hpp>

#include "fiber/rl/detail/formatted.hpp"
#include "fiber/rl/detail/parse_options.hpp"
#include "fiber/rl/environment_check.hpp"
#include "fiber/rl/environments.hpp"
#include "fiber/rl/evaluate.hpp"
#include "fiber/rl/live_line.hpp"
#include "fiber/rl/training_log.hpp"
#include "rl/ppo/asynchronous.hpp"
#ifdef FIBER_HAS_RING
#include "rl/ppo/learner_group.hpp"
#endif
#include "rl/ppo/training.hpp"

namespace fiber::rl {
namespace {

namespace fs = std::filesystem;

std::atomic<bool> interrupted = false;

/// The curve's column for --eval-every. Rows without an evaluation leave it empty.
constexpr const char* evaluation_column = "eval/return";

struct Settings {
  ppo::TrainingOptions training;
  fs::path out = "out", save; ///< save: by default in `out`.
  bool resume = false, asynchronous = false;
  std::optional<double> until; ///< A mean return that is good enough.
  std::size_t save_every = 50, evaluation_episodes = 100;
  std::uint64_t evaluate_every = 0; ///< In steps; 0: only at the end.
};

TrainingStatus status_of(const ppo::CurveRow& row, std::uint64_t steps,
                         double steps_per_second) {
  return {.step = row.steps,
          .steps = steps,
          .steps_per_second = steps_per_second,
          .mean_return = row.return_mean,
          .policy_loss = row.policy_loss,
          .value_loss = row.value_loss,
          .learner_idle = row.learner_idle};
}

/// Shows the update on the session's live page.
void publish_row(const ppo::CurveRow& row, double steps_per_second) {
  publish("return", row.return_mean);
  publish("policy loss", row.policy_loss);
  publish("value loss", row.value_loss);
  publish("steps/s", steps_per_second);
}

/// The mean return of one lot of fresh episodes. Two lots share no episode.
double fresh_mean_return(const Settings& settings, const ppo::Trainer& training,
                         std::size_t lot) {
  auto policy = training.policy();
  Policy player(policy.spec, policy.parameters);
  return evaluate(policy.environment, player, policy.observations,
                  {.episodes = settings.evaluation_episodes,
                   .first = lot * settings.evaluation_episodes,
                   .seed = settings.training.seed})
    .mean_return();
}

/// Evaluates the policy, and prints the result, if the training has passed a multiple of
/// --eval-every since `steps_before`. Returns the mean return, else NaN.
double mean_return_if_due(const Settings& settings, const ppo::Trainer& training,
                          std::uint64_t steps_before, LiveLine& line) {
  auto steps = training.last_row().steps;
  auto lot = steps / settings.evaluate_every;
  if (lot == steps_before / settings.evaluate_every)
    return std::numeric_limits<double>::quiet_NaN();
  auto mean = fresh_mean_return(settings, training, lot);
  line.say(detail::formatted("after %llu steps: mean return %.2f",
                             static_cast<unsigned long long>(steps), mean));
  return mean;
}

/// Trains until all steps are done or the program is interrupted. Whatever ends it, the
/// checkpoint holds the last state that was saved; `saved` becomes true with the first.
void learn(const Settings& settings, ppo::Trainer& training, const fs::path& checkpoint,
           TrainingLog& log, LiveLine& line, bool& saved) {
  auto save = [&] {
    log.sync(); // A checkpoint is never ahead of the log.
    training.save(checkpoint);
    saved = true;
  };
  auto steps_before = training.last_row().steps;
  auto seconds_before = training.last_row().seconds;
  auto mean = settings.evaluate_every > 0 ? std::numeric_limits<double>::quiet_NaN()
                                          : training.last_row().return_mean;
  while (!training.done() && !interrupted &&
         !(settings.until && mean >= *settings.until)) {
    auto last_steps = training.last_row().steps;
    auto& row = training.update();
    auto columns = ppo::columns(row);
    mean = row.return_mean;
    if (settings.evaluate_every > 0) {
      mean = mean_return_if_due(settings, training, last_steps, line);
      columns.push_back(mean);
    }
    log.add(row.steps, columns);
    if (row.update % settings.save_every == 0)
      save();
    auto steps_per_second =
      static_cast<double>(row.steps - steps_before) / (row.seconds - seconds_before);
    line.show(status_of(row, settings.training.settings.steps, steps_per_second));
    publish_row(row, steps_per_second);
  }
  save();
}

/// `mean`: of the fresh episodes at the end, if they have been played.
void draw(const Settings& settings, const ppo::Trainer& training, const TrainingLog& log,
          std::optional<double> mean) {
  PlotStyle style;
  style.y_label = "mean return of the last 100 training episodes";
  if (mean)
    style.point = {.x = static_cast<double>(training.last_row().steps),
                   .y = *mean,
                   .title = "the policy at the end: mean of " +
                            std::to_string(settings.evaluation_episodes) +
                            " fresh episodes"};
  style.title = "PPO on " + settings.training.environment + ", seed " +
                std::to_string(settings.training.seed);
  std::vector<std::string> columns = {"return"};
  if (settings.evaluate_every > 0)
    columns.push_back(evaluation_column);
  if (!log.plot(columns, style))
    std::cerr << "ppo: no curve.png: is gnuplot installed?\n";
}

std::unique_ptr<ppo::Trainer> trainer_for(const Settings& settings) {
  if (settings.training.learners != 1)
#ifdef FIBER_HAS_RING
    return std::make_unique<ppo::LearnerGroup>(settings.training);
#else
    throw std::invalid_argument(
      "--learners: this build has no Ring; build with FIBER_RING=ON");
#endif
  if (settings.asynchronous)
    return std::make_unique<ppo::AsynchronousTraining>(settings.training);
  return std::make_unique<ppo::Training>(settings.training);
}

int run(const Settings& settings) {
  auto trainer = trainer_for(settings);
  auto& training = *trainer;
  fs::create_directories(settings.out);
  auto checkpoint = settings.out / "checkpoint";
  LiveLine line(stdout, 20);
  line.say(settings.training.environment + ": " + training.policy().spec.describe());
  line.say(ppo::describe(settings.training.settings));
  auto resumed = settings.resume && training.load(checkpoint);
  if (resumed)
    line.say("resumed after update " + std::to_string(training.last_row().update));
  else if (settings.resume)
    line.say("no checkpoint at " + checkpoint.string() + ": starting anew");
  TrainingLogOptions log_options;
  log_options.folder = settings.out;
  log_options.columns = ppo::column_names();
  if (settings.evaluate_every > 0)
    log_options.columns.push_back(evaluation_column);
  if (resumed)
    log_options.resume_after = training.last_row().steps;
  TrainingLog log(log_options);
  auto saved = resumed; // A checkpoint may also be there from another run.
  try {
    learn(settings, training, checkpoint, log, line, saved);
  } catch (const std::exception& error) {
    throw std::runtime_error(
      std::string(error.what()) + "; " +
      (saved ? checkpoint.string() + " has the last state that was saved"
             : "this run has saved nothing yet"));
  }
  auto policy = training.policy();
  auto path = settings.save.empty() ? settings.out / "policy" : settings.save;
  save_policy(path, policy);
  std::optional<double> mean;
  if (!interrupted || training.done())
    mean = fresh_mean_return(settings, training, 0);
  if (std::isnan(training.last_row().return_mean))
    line.say(
      "no episode has ended: does the environment set `truncated` at a step limit?");
  else
    draw(settings, training, log, mean);
  line.say("policy saved to " + path.string() + ", curve to " + log.csv().string());
  if (auto summary = training.summary(); !summary.empty())
    line.say(summary);
  if (!mean) {
    line.say("interrupted; --resume goes on from " + checkpoint.string());
    return 130;
  }
  line.say(detail::formatted("mean return %.2f over %zu fresh episodes", *mean,
                             settings.evaluation_episodes));
  return 0;
}

void add_ways_to_play(CLI::App& app, Settings& settings) {
  auto* jobs = app
                 .add_option("--jobs", settings.training.jobs,
                             "That play the environments; 0: this process")
                 ->capture_default_str();
  auto* asynchronous =
    app
      .add_flag("--asynchronous", settings.asynchronous,
                "Actors play by the newest policy and wait for nobody; V-trace corrects "
                "for its age. For environments that are slow or many. Neither a run nor "
                "--resume repeats byte for byte")
      ->excludes(jobs);
  app
    .add_option("--actors", settings.training.actors,
                "With --asynchronous: actors, a job each, that share the environments")
    ->needs(asynchronous)
    ->capture_default_str();
  app
    .add_option(
      "--learners", settings.training.learners,
      "Processes that each play a part of the environments and learn from the "
      "mean of all gradients, as members of a ring. Their number decides what is "
      "learned, too")
    ->excludes(jobs)
    ->excludes(asynchronous)
    ->capture_default_str();
}

void add_hyperparameters(CLI::App& app, ppo::Hyperparameters& s) {
  auto* group = app.add_option_group("Hyper-parameters");
  auto add = [&](const char* name, auto& value, const char* what) {
    group->add_option(name, value, what)->capture_default_str();
  };
  auto flag = [&](const char* name, bool& value, const char* what) {
    group->add_flag(name, value, what)->capture_default_str();
  };
  add("--steps", s.steps, "Steps of all environments together");
  add("--envs", s.envs, "Environments");
  add("--rollout", s.rollout, "Steps of each environment between two updates");
  add("--minibatch", s.update.minibatch, "Samples a step of Adam");
  add("--epochs", s.update.epochs, "How often an update sees each sample");
  add("--gamma", s.gamma, "Discount");
  add("--lambda", s.lambda, "Of generalised advantage estimation");
  add("--learning-rate", s.learning_rate, "Of Adam");
  flag("--anneal-learning-rate,!--no-anneal-learning-rate", s.anneal_learning_rate,
       "Linearly to 0");
  add("--clip-range", s.clip_range, "Of the ratio of new and old probability");
  flag("--anneal-clip-range,!--no-anneal-clip-range", s.anneal_clip_range,
       "Linearly to 0");
  flag("--clip-values,!--no-clip-values", s.update.clip_values, "Values, too");
  add("--entropy", s.update.entropy_coefficient, "Weight of the entropy");
  add("--value", s.update.value_coefficient, "Weight of the value loss");
  add("--max-gradient", s.update.max_gradient_norm,
      "Norm at which gradients are clipped");
  add("--target-kl", s.update.target_kl,
      "An update stops above 1.5 times this; 0: never");
  flag("--normalise-observations,!--no-normalise-observations", s.normalise_observations,
       "By running mean and variance");
  flag("--normalise-rewards,!--no-normalise-rewards", s.normalise_rewards,
       "By the variance of returns");
  flag("--sign-rewards,!--no-sign-rewards", s.sign_rewards, "Learn from their signs");
}

/// The environment's name decides the defaults of the others, so it is looked for first.
std::string environment_in(int argc, char** argv) {
  std::string name = "cartpole", flag = "--env";
  for (int i = 1; i < argc; ++i) {
    std::string word = argv[i];
    if (word == flag && i + 1 < argc)
      name = argv[i + 1];
    else if (word.starts_with(flag + "="))
      name = word.substr(flag.size() + 1);
  }
  return name;
}

int run_in_session(int argc, char** argv) {
  Settings settings;
  auto& training = settings.training;
  training.environment = environment_in(argc, argv);
  training.settings = ppo::hyperparameters_of(training.environment);
  std::string names;
  for (auto& name : environment_names())
    names += (names.empty() ? "" : ", ") + name;
  CLI::App app("Proximal policy optimisation (Schulman et al. 2017). Environments: " +
               names);
  app.add_option("--env", training.environment, "Environment")->capture_default_str();
  app.add_option("--seed", training.seed, "Decides all that is drawn")
    ->capture_default_str();
  add_ways_to_play(app, settings);
  app.add_option("--out", settings.out, "Folder for curve, checkpoint and policy")
    ->capture_default_str();
  app.add_option("--save", settings.save, "File for the policy; default: OUT/policy");
  app.add_option(
    "--until", settings.until,
    "End as soon as the mean return of the last 100 episodes, or of all if there "
    "are fewer, is that high; with --eval-every, that of fresh episodes");
  app.add_flag("--resume", settings.resume,
               "Go on from the checkpoint in OUT, as if nothing had happened; with "
               "--asynchronous in new episodes");
  app.add_option("--save-every", settings.save_every, "Updates between two checkpoints")
    ->check(CLI::PositiveNumber)
    ->capture_default_str();
  app
    .add_option("--eval-episodes", settings.evaluation_episodes,
                "Fresh episodes at the end, and each time by --eval-every")
    ->check(CLI::PositiveNumber)
    ->capture_default_str();
  app
    .add_option("--eval-every", settings.evaluate_every,
                "Steps after which the policy plays fresh episodes, each time others, "
                "with its most probable actions; the curve gets their mean return. "
                "0: only at the end")
    ->capture_default_str();
  add_hyperparameters(app, training.settings);
  if (const auto ended = detail::parse_options(app, argc, argv))
    return *ended;

  auto stop = [](int) { interrupted = true; };
  std::signal(SIGINT, stop);
  std::signal(SIGTERM, stop);
  ppo::check(training.settings);
  check_environment(training.environment);
  return run(settings);
}

} // namespace

int run_ppo(int argc, char** argv) {
  try {
    auto session = fiber::init(argc, argv); // In a job, this call never returns.
    return run_in_session(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "ppo: " << error.what() << '\n';
    return 1;
  }
}

} // namespace fiber::rl
