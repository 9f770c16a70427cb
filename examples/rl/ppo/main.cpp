// SPDX-License-Identifier: Apache-2.0
// ppo: proximal policy optimisation on environments in this process or in jobs.
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <iostream>
#include <string>

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <fiber/fiber.hpp>

#include "fiber/rl/environments.hpp"
#include "fiber/rl/evaluate.hpp"
#include "training.hpp"

namespace {

namespace fs = std::filesystem;

std::atomic<bool> interrupted = false;

struct Settings {
  ppo::TrainingOptions training;
  fs::path out = "out", save; ///< save: by default in `out`.
  bool resume = false;
  std::size_t save_every = 50, evaluation_episodes = 100;
};

/// One line that is written over and over on a terminal, and once in a while elsewhere.
class LiveLine {
public:
  void show(const ppo::CurveRow& row, bool last) {
    auto now = std::chrono::steady_clock::now();
    auto pause = std::chrono::milliseconds(terminal_ ? 200 : 5000);
    if (!last && now - shown_ < pause)
      return;
    auto seconds = std::chrono::duration<double>(now - shown_).count();
    auto rate = shown_at_ > 0 && row.steps > shown_at_
                  ? static_cast<double>(row.steps - shown_at_) / seconds
                  : static_cast<double>(row.steps) / std::max(row.seconds, 1e-9);
    std::printf("%s%9llu steps  %7.0f steps/s  return %8.2f  policy %+.4f  value %.4f  "
                "entropy %.3f  learner idle %2.0f %%%s",
                terminal_ ? "\r" : "", static_cast<unsigned long long>(row.steps), rate,
                row.return_mean, row.policy_loss, row.value_loss, row.entropy,
                100 * row.learner_idle, terminal_ && !last ? "" : "\n");
    std::fflush(stdout);
    shown_ = now;
    shown_at_ = row.steps;
  }

private:
  const bool terminal_ = ::isatty(STDOUT_FILENO) == 1;
  std::chrono::steady_clock::time_point shown_ = {};
  std::uint64_t shown_at_ = 0;
};

/// Trains until all steps are done. Returns false if it was interrupted. Whatever ends
/// it, the checkpoint holds the last good state.
bool learn(const Settings& settings, ppo::Training& training,
           const fs::path& checkpoint) {
  LiveLine line;
  while (!training.done() && !interrupted) {
    try {
      auto& row = training.update();
      if (row.update % settings.save_every == 0) {
        training.save(checkpoint);
        ppo::save_curve(settings.out / "curve.csv", training.curve());
      }
      line.show(row, training.done() || interrupted);
    } catch (const std::exception& error) {
      throw std::runtime_error(std::string(error.what()) + "; " +
                               (fs::exists(checkpoint)
                                  ? checkpoint.string() + " has the last saved state"
                                  : "nothing was saved before"));
    }
  }
  training.save(checkpoint);
  ppo::save_curve(settings.out / "curve.csv", training.curve());
  return training.done();
}

int run(const Settings& settings) {
  fs::create_directories(settings.out);
  auto checkpoint = settings.out / "checkpoint";
  ppo::Training training(settings.training);
  std::cout << settings.training.environment << ": " << training.policy().spec.describe()
            << "\n"
            << ppo::describe(settings.training.settings) << std::endl;
  if (settings.resume) {
    if (training.load(checkpoint))
      std::cout << "resumed after update " << training.curve().back().update << std::endl;
    else
      std::cout << "no checkpoint at " << checkpoint.string() << ": starting anew"
                << std::endl;
  }
  auto finished = learn(settings, training, checkpoint);
  auto policy = training.policy();
  auto path = settings.save.empty() ? settings.out / "policy" : settings.save;
  fiber::rl::save_policy(path, policy);
  std::cout << "policy saved to " << path.string() << ", curve to "
            << (settings.out / "curve.csv").string() << std::endl;
  if (training.jobs_lost() > 0)
    std::cout << training.jobs_lost() << " jobs were lost and replaced" << std::endl;
  if (!finished) {
    std::cout << "interrupted; --resume goes on from " << checkpoint.string()
              << std::endl;
    return 130;
  }
  fiber::rl::Policy player(policy.spec, policy.parameters);
  auto evaluation = fiber::rl::evaluate(
    policy.environment, player, policy.observations,
    {.episodes = settings.evaluation_episodes, .seed = settings.training.seed});
  std::printf("mean return %.2f over %zu fresh episodes\n", evaluation.mean_return(),
              settings.evaluation_episodes);
  return 0;
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

} // namespace

int main(int argc, char** argv) {
  auto session = fiber::init(argc, argv); // In a job, this call never returns.
  Settings settings;
  auto& training = settings.training;
  training.environment = environment_in(argc, argv);
  training.settings = ppo::hyperparameters_of(training.environment);
  std::string names;
  for (auto& name : fiber::rl::environment_names())
    names += (names.empty() ? "" : ", ") + name;
  CLI::App app("Proximal policy optimisation (Schulman et al. 2017). Environments: " +
               names);
  app.add_option("--env", training.environment, "Environment")->capture_default_str();
  app.add_option("--seed", training.seed, "Decides all that is drawn")
    ->capture_default_str();
  app.add_option("--jobs", training.jobs, "That play the environments; 0: this process")
    ->capture_default_str();
  app.add_option("--out", settings.out, "Folder for curve, checkpoint and policy")
    ->capture_default_str();
  app.add_option("--save", settings.save, "File for the policy; default: OUT/policy");
  app.add_flag("--resume", settings.resume, "Go on from the checkpoint in OUT");
  app.add_option("--save-every", settings.save_every, "Updates between two checkpoints")
    ->check(CLI::PositiveNumber)
    ->capture_default_str();
  app
    .add_option("--eval-episodes", settings.evaluation_episodes,
                "Fresh episodes at the end")
    ->check(CLI::PositiveNumber)
    ->capture_default_str();
  add_hyperparameters(app, training.settings);
  CLI11_PARSE(app, argc, argv);

  auto stop = [](int) { interrupted = true; };
  std::signal(SIGINT, stop);
  std::signal(SIGTERM, stop);
  try {
    ppo::check(training.settings);
    fiber::rl::make_environment(training.environment);
    return run(settings);
  } catch (const std::exception& error) {
    std::cerr << "ppo: " << error.what() << '\n';
    return 1;
  }
}
