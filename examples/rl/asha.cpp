// SPDX-License-Identifier: Apache-2.0
// Tunes PPO by asynchronous successive halving, ASHA (Li et al. 2020, arXiv 1810.05934,
// algorithm 2). Each configuration trains for a few steps. The best quarter of those
// trains for four times as many, from their checkpoints on, and so forth. A worker that
// is free gets the next task at once: no rung waits for its stragglers.
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <boost/serialization/string.hpp>
#include <fiber/fiber.hpp>
#include <fiber/rl/ppo_trainer.hpp>
#include <fiber/rl/random.hpp>

using fiber::rl::PpoOptions;

constexpr std::size_t eta = 4, rungs = 3; ///< One of `eta` is promoted to the next rung.
constexpr std::size_t episodes = 20;      ///< Whose mean return is a score.

struct Trained {
  double score = 0;
  std::string checkpoint = {}; ///< About 100 kB, which travel to the driver and back.
  template <class Archive>
  void serialize(Archive& archive, unsigned) {
    archive& score& checkpoint;
  }
};

/// A task: continues from `checkpoint`, unless it is empty, until so many steps are made.
Trained train(const PpoOptions& options, std::uint64_t steps,
              const std::string& checkpoint) {
  fiber::rl::PpoTrainer trainer(options);
  if (!checkpoint.empty())
    trainer.restore(checkpoint);
  const Trained worst{-std::numeric_limits<double>::infinity()};
  try {
    if (trainer.last_update().steps < steps)
      trainer.run([&](const fiber::rl::PpoUpdate& made) { return made.steps < steps; });
    return {trainer.evaluate({.episodes = episodes}).mean_return(), trainer.checkpoint()};
  } catch (const std::domain_error&) { // A number is not finite: this learns too fast.
    return worst;
  } catch (const std::runtime_error& error) { // A loss is infinite, or a step threw.
    std::fprintf(stderr, "%s\n", error.what());
    return worst;
  }
}

struct Job {
  std::size_t configuration = 0, rung = 0;
};

/// Says what to train next. Any number of jobs may be under way.
class Asha {
public:
  explicit Asha(std::size_t configurations) : configurations_(configurations) {}

  std::optional<Job> next() {
    for (auto rung = rungs - 1; rung-- > 0;) {
      auto& tried = tried_[rung];
      for (std::size_t i = 0; i < tried.size() / eta; ++i)
        if (!std::exchange(tried[i].promoted, true))
          return Job{tried[i].configuration, rung + 1};
    }
    if (drawn_ == configurations_)
      return {};
    return Job{drawn_++, 0};
  }
  void add(const Job& job, double score) {
    auto& tried = tried_[job.rung];
    auto worse =
      std::ranges::find_if(tried, [&](auto& one) { return one.score < score; });
    tried.insert(worse, {score, job.configuration});
  }

  struct Tried {
    double score;
    std::size_t configuration;
    bool promoted = false;
  };
  /// Best first.
  const std::vector<Tried>& tried(std::size_t rung) const { return tried_.at(rung); }

private:
  std::size_t configurations_, drawn_ = 0;
  std::array<std::vector<Tried>, rungs> tried_;
};

struct Settings {
  PpoOptions common;
  std::size_t configurations = 64, workers = 4;

  std::uint64_t steps_of(std::size_t rung) const {
    return rung + 1 < rungs ? steps_of(rung + 1) / eta : common.steps;
  }
  PpoOptions drawn(std::size_t configuration) const {
    fiber::rl::Random random(common.seed, {configuration});
    const auto log_uniform = [&](double low, double high) {
      return std::exp(random.uniform(std::log(low), std::log(high)));
    };
    auto options = common;
    options.learning_rate = log_uniform(1e-5, 0.1);
    options.minibatch = std::size_t{32} << random.below(5); // 32, 64, ... 512
    options.entropy_coefficient = log_uniform(1e-5, 0.1);
    return options;
  }
};

/// Returns the last checkpoint of each configuration.
std::vector<std::string> run(Asha& search, const Settings& settings) {
  fiber::Pool pool(settings.workers);
  std::vector<std::string> checkpoints(settings.configurations);
  std::vector<Job> jobs; // That are under way, and their results.
  std::vector<fiber::Future<Trained>> results;
  for (;;) {
    while (results.size() < settings.workers) {
      const auto job = search.next();
      if (!job)
        break;
      jobs.push_back(*job);
      results.push_back(pool.apply_async(train, settings.drawn(job->configuration),
                                         settings.steps_of(job->rung),
                                         checkpoints[job->configuration]));
    }
    if (results.empty())
      return checkpoints;
    const auto ended = fiber::wait(results, 1, std::chrono::hours::max()).at(0);
    auto trained = results[ended].get();
    search.add(jobs[ended], trained.score);
    if (!trained.checkpoint.empty())
      checkpoints[jobs[ended].configuration] = std::move(trained.checkpoint);
    std::swap(jobs[ended], jobs.back());
    std::swap(results[ended], results.back());
    jobs.pop_back();
    results.pop_back();
  }
}

void tune(const Settings& settings) {
  Asha search(settings.configurations);
  const auto checkpoints = run(search, settings);
  std::puts("rung    steps  configurations     best   median");
  for (std::size_t rung = 0; rung < rungs; ++rung) {
    const auto& tried = search.tried(rung);
    std::printf("%4zu  %7llu  %14zu  %7.1f  %7.1f\n", rung,
                static_cast<unsigned long long>(settings.steps_of(rung)), tried.size(),
                tried[0].score, tried[tried.size() / 2].score);
  }
  const auto winner = search.tried(rungs - 1).at(0).configuration;
  if (checkpoints[winner].empty())
    throw std::runtime_error("all configurations have failed");
  const auto best = settings.drawn(winner);
  fiber::rl::PpoTrainer trainer(best);
  trainer.restore(checkpoints[winner]);
  std::printf("best: learning rate %.2g, minibatch %zu, entropy %.2g: mean return %.1f "
              "over 100 fresh episodes\n",
              best.learning_rate, best.minibatch, best.entropy_coefficient,
              trainer.evaluate({.first = episodes}).mean_return());
}

int main(int argc, char** argv) {
  return fiber::main_guard([&] {
    auto session = fiber::init(argc, argv); // In a worker, this call never returns.
    Settings settings;
    PpoOptions chosen;
    chosen.steps = 16384;
    CLI::App app{"Tunes PPO by asynchronous successive halving"};
    app.add_option("--env", chosen.environment, "Environment")->capture_default_str();
    app.add_option("--configurations", settings.configurations, "To draw")
      ->check(CLI::Range(eta * eta, std::size_t{1'000'000}))
      ->capture_default_str();
    app.add_option("--steps", chosen.steps, "In the top rung")->capture_default_str();
    app.add_option("--workers", settings.workers, "That train")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
    app.add_option("--seed", chosen.seed, "Decides what is drawn")->capture_default_str();
    CLI11_PARSE(app, argc, argv);

    settings.common = fiber::rl::ppo_defaults(chosen.environment);
    settings.common.seed = chosen.seed;
    settings.common.steps = chosen.steps;
    tune(settings);
    return 0;
  });
}
