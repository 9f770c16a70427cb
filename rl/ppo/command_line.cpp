// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <csignal>
#include <exception>
#include <iostream>
#include <stdexcept>
#include <string>

#include <CLI/CLI.hpp>
#include <fiber/fiber.hpp>

#include "fiber/rl/detail/parse_options.hpp"
#include "fiber/rl/environment_check.hpp"
#include "fiber/rl/environments.hpp"
#include "fiber/rl/ppo.hpp"
#include "rl/ppo/run.hpp"

namespace fiber::rl {
namespace {

std::atomic<bool> interrupted = false;

struct Settings {
  PpoOptions training;
  ppo::RunOptions run;
  bool asynchronous = false;
  std::size_t actors = 4;
  double step_timeout = 0;
  std::string on_error = "stop";
};

void add_ways_to_play(CLI::App& app, Settings& settings) {
  auto* jobs = app
                 .add_option("--jobs", settings.training.jobs,
                             "That play the environments; 0: this process")
                 ->capture_default_str();
  app
    .add_option("--step-timeout", settings.step_timeout,
                "Seconds that a step of an environment may take; a job whose environment "
                "takes longer is replaced. 0: no limit")
    ->needs(jobs)
    ->check(CLI::Range(0.0, 1e6));
  auto* asynchronous =
    app
      .add_flag(
        "--asynchronous", settings.asynchronous,
        "Actors play by the newest policy and wait for no update; V-trace corrects "
        "for its age. For environments that are slow or many. Neither a run nor "
        "--resume repeats byte for byte")
      ->excludes(jobs);
  auto* overlap =
    app
      .add_flag(
        "--overlap", settings.training.overlap,
        "Play the next rollout while learning from the last, by the policy before "
        "the update; V-trace corrects for its age")
      ->excludes(asynchronous);
  app
    .add_option("--on-error", settings.on_error,
                "If an environment throws: stop, or begin a new_episode")
    ->check(CLI::IsMember({"stop", "new_episode"}))
    ->capture_default_str();
  app
    .add_option("--actors", settings.actors,
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
    ->excludes(overlap)
    ->capture_default_str();
}

void add_hyperparameters(CLI::App& app, PpoOptions& s) {
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
  group
    ->add_option("--hidden", s.hidden,
                 "Widths of the hidden layers, such as 256,256; default: 64,64, or for "
                 "images 512 after three convolutions")
    ->delimiter(',');
  group
    ->add_option_function<std::string>(
      "--activation",
      [&s](const std::string& name) {
        s.activation = name == "relu" ? Activation::relu : Activation::tanh;
      },
      "Between layers: tanh or relu; default: tanh, or for images relu")
    ->check(CLI::IsMember({"tanh", "relu"}));
  add("--device", s.device, "Where LibTorch learns from images: cpu, cuda or cuda:N");
  add("--lstm", s.lstm,
      "Units of an LSTM after the hidden layers: the policy remembers its episode. "
      "--minibatch is rounded up to whole environments. 0: none. Not for images, and not "
      "with --asynchronous or --overlap");
  add("--minibatch", s.minibatch, "Samples a step of Adam");
  add("--epochs", s.epochs, "How often an update sees each sample");
  add("--gamma", s.gamma, "Discount");
  add("--lambda", s.lambda, "Of generalised advantage estimation");
  add("--learning-rate", s.learning_rate, "Of Adam");
  flag("--anneal-learning-rate,!--no-anneal-learning-rate", s.anneal_learning_rate,
       "Linearly to 0");
  add("--clip-range", s.clip_range, "Of the ratio of new and old probability");
  flag("--anneal-clip-range,!--no-anneal-clip-range", s.anneal_clip_range,
       "Linearly to 0");
  flag("--clip-values,!--no-clip-values", s.clip_values, "Values, too");
  add("--entropy", s.entropy_coefficient, "Weight of the entropy");
  add("--value", s.value_coefficient, "Weight of the value loss");
  add("--max-gradient", s.max_gradient_norm, "Norm at which gradients are clipped");
  add("--target-kl", s.target_kl, "An update stops above 1.5 times this; 0: never");
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
  training = ppo_defaults(environment_in(argc, argv));
  std::string names;
  for (auto& name : environment_names())
    names += (names.empty() ? "" : ", ") + name;
  CLI::App app("Proximal policy optimisation (Schulman et al. 2017). Environments: " +
               names);
  app.add_option("--env", training.environment, "Environment")->capture_default_str();
  app.add_option("--seed", training.seed, "Decides all that is drawn")
    ->capture_default_str();
  add_ways_to_play(app, settings);
  app.add_option("--out", settings.run.out, "Folder for curve, checkpoint and policy")
    ->capture_default_str();
  app.add_option("--save", settings.run.save, "File for the policy; default: OUT/policy");
  app.add_option(
    "--until", settings.run.until,
    "End as soon as the mean return of the last 100 episodes, or of all if there "
    "are fewer, is that high; with --eval-every, that of fresh episodes");
  app.add_flag("--resume", settings.run.resume,
               "Go on from the checkpoint in OUT, as if nothing had happened; with "
               "--asynchronous in new episodes");
  app
    .add_option("--save-every", settings.run.save_every,
                "Updates between two checkpoints")
    ->check(CLI::PositiveNumber)
    ->capture_default_str();
  app
    .add_option("--eval-episodes", settings.run.evaluation_episodes,
                "Fresh episodes at the end, and each time by --eval-every")
    ->check(CLI::PositiveNumber)
    ->capture_default_str();
  app
    .add_option("--eval-every", settings.run.evaluate_every,
                "Steps after which the policy plays fresh episodes, each time others, "
                "with its most probable actions; the curve gets their mean return. "
                "0: only at the end")
    ->capture_default_str();
  add_hyperparameters(app, training);
  if (const auto ended = detail::parse_options(app, argc, argv))
    return *ended;

  auto stop = [](int) { interrupted = true; };
  std::signal(SIGINT, stop);
  std::signal(SIGTERM, stop);
  if (settings.asynchronous && settings.actors == 0)
    throw std::invalid_argument("--actors must be at least 1");
  if (settings.asynchronous)
    training.actors = settings.actors;
  if (settings.step_timeout > 0)
    training.step_timeout = std::chrono::milliseconds(
      std::max(std::llround(1000 * settings.step_timeout), 1LL));
  if (settings.on_error == "new_episode")
    training.on_error = OnError::new_episode;
  training.check();
  check_environment(training.environment);
  return ppo::run(training, settings.run, interrupted);
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
