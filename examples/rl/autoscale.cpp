// SPDX-License-Identifier: Apache-2.0
// An elastic trainer: evolution strategies whose population grows and shrinks, on a pool
// that starts and ends workers as there is work. Draws the workers over time.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <iomanip>
#include <iostream>
#include <mutex>
#include <sstream>
#include <thread>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fiber/fiber.hpp>
#include <fiber/rl/cartpole.hpp>
#include <fiber/rl/checkpoint_file.hpp>
#include <fiber/rl/evolution_training.hpp>
#include <fiber/rl/plot.hpp>

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
namespace rl = fiber::rl;

struct Settings {
  std::size_t min = 1, max = 16; ///< Workers.
  std::size_t most = 64;         ///< Directions in the largest population.
  std::size_t iterations = 4;    ///< With each size of the population.
  int milliseconds = 100;        ///< That an evaluation takes at least.
  std::string out = "out/autoscale";
};

/// Stands for a simulator that keeps its own time, such as a game or a robot: more
/// workers than cores are of use then.
void wait(int milliseconds) {
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

rl::DirectionResult run_direction(const rl::Generation& generation,
                                  const fiber::SharedArray<float>& noise,
                                  int milliseconds, std::uint64_t offset) {
  wait(milliseconds);
  return rl::evaluate_direction(*rl::erase<rl::CartPole>(), generation, noise, offset);
}

double run_episode(const rl::Generation& generation, rl::Judgement judgement,
                   int milliseconds, std::uint64_t episode) {
  wait(milliseconds);
  return rl::evaluate_policy(*rl::erase<rl::CartPole>(), generation, judgement, episode);
}

rl::EvolutionEvaluator
evaluator(fiber::Pool& pool, const fiber::SharedArray<float>& noise, int milliseconds) {
  return {.directions =
            [=, &pool](const rl::Generation& generation,
                       const std::vector<std::uint64_t>& offsets) {
              return pool.map(fiber::bind(run_direction, generation, noise, milliseconds),
                              offsets);
            },
          .policy =
            [=, &pool](const rl::Generation& generation, rl::Judgement judgement,
                       std::uint64_t count) {
              std::vector<std::uint64_t> episodes(count);
              for (std::uint64_t i = 0; i < count; ++i)
                episodes[i] = i;
              return pool.map(
                fiber::bind(run_episode, generation, judgement, milliseconds), episodes);
            }};
}

/// Looks at a pool ten times a second, until it ends.
class Watch {
public:
  struct Sample {
    double seconds = 0;
    std::size_t workers = 0;
    std::size_t wanted = 0; ///< As many as there were tasks in the last half a second.
    std::size_t queued = 0; ///< Tasks that wait.
  };

  Watch(const fiber::Pool& pool, std::size_t min, std::size_t max)
    : pool_(pool), min_(min), max_(max),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

  std::vector<Sample> samples() const {
    std::lock_guard lock(mutex_);
    return samples_;
  }

private:
  static constexpr std::size_t half_a_second = 5; ///< In samples.

  void run(const std::stop_token& stop) {
    for (auto next = Clock::now(); !stop.stop_requested(); next += 100ms) {
      std::this_thread::sleep_until(next);
      const auto stats = pool_.stats();
      recent_.push_back(stats.queued + stats.prefetched + stats.running);
      if (recent_.size() > half_a_second)
        recent_.pop_front();
      const auto wanted = std::clamp(std::ranges::max(recent_), min_, max_);
      const std::chrono::duration<double> time = Clock::now() - begin_;
      std::lock_guard lock(mutex_);
      samples_.push_back({time.count(), stats.workers, wanted, stats.queued});
    }
  }

  const fiber::Pool& pool_;
  const std::size_t min_, max_;
  const Clock::time_point begin_ = Clock::now();
  std::deque<std::size_t> recent_; ///< Tasks that waited or ran.
  mutable std::mutex mutex_;
  std::vector<Sample> samples_;
  std::jthread thread_; ///< Last: it uses what is above.
};

void save(const std::filesystem::path& out, const std::vector<Watch::Sample>& samples) {
  std::ostringstream csv;
  csv << "seconds,workers,wanted,queued\n";
  for (const auto& each : samples)
    csv << each.seconds << ',' << each.workers << ',' << each.wanted << ',' << each.queued
        << '\n';
  std::filesystem::create_directories(out);
  rl::write_atomically(out / "workers.csv", csv.str());
  if (rl::plot_csv(out / "workers.csv", out / "workers.png",
                   {.title = "A pool that follows the size of a population",
                    .x_label = "seconds",
                    .y_label = "number"},
                   {{4, "tasks that wait"}, {3, "workers wanted"}, {2, "workers up"}}))
    std::cout << "figure: " << (out / "workers.png").string() << '\n';
}

/// 1, 2, 4 ... most ... 4, 2, 1 directions.
std::vector<std::size_t> populations(std::size_t most) {
  std::vector<std::size_t> sizes;
  for (std::size_t size = 1; size < most; size *= 2)
    sizes.push_back(size);
  std::vector<std::size_t> all = sizes;
  all.push_back(most);
  all.insert(all.end(), sizes.rbegin(), sizes.rend());
  return all;
}

int main(int argc, char** argv) {
  Settings settings;
  CLI::App app{"Trains CartPole with a population, and so a pool, of varying size"};
  app.add_option("--min", settings.min, "workers at least")->capture_default_str();
  app.add_option("--max", settings.max, "workers at most")->capture_default_str();
  app.add_option("--directions", settings.most, "directions in the largest population")
    ->check(CLI::PositiveNumber)
    ->capture_default_str();
  app.add_option("--iterations", settings.iterations, "with each size of the population")
    ->capture_default_str();
  app.add_option("--milliseconds", settings.milliseconds, "that an evaluation waits")
    ->check(CLI::NonNegativeNumber)
    ->capture_default_str();
  app.add_option("--out", settings.out, "folder for workers.csv and workers.png")
    ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  auto session = fiber::init(argc, argv); // In another process, this call never returns.

  auto options = rl::evolution_options("cartpole");
  options.episodes = 4;
  options.evaluations = 1;
  options.solved_at = {}; // The schedule ends the training.
  options.search.learning_rate = 0.05;
  const auto spaces = rl::spaces_of(rl::CartPole());
  const auto noise = rl::make_noise_table(options.table_size, options.seed);
  const auto shared = fiber::share(std::span<const float>(noise));
  auto state = rl::EvolutionTraining(options, spaces, noise).state();

  fiber::Pool pool({.workers = settings.min});
  pool.autoscale(settings.min, settings.max, 500ms);
  Watch watch(pool, settings.min, settings.max);
  std::cout << "directions  mean return  workers\n";
  for (auto directions : populations(settings.most)) {
    options.search.directions = directions;
    options.iterations = state.search.iteration + settings.iterations;
    rl::EvolutionTraining training(options, spaces, noise, std::move(state));
    while (!training.finished())
      training.step(evaluator(pool, shared, settings.milliseconds));
    state = training.state();
    std::cout << std::setw(10) << directions << std::fixed << std::setprecision(1)
              << std::setw(13) << state.curve.back().population_mean << std::setw(9)
              << pool.stats().workers << std::endl;
  }
  while (pool.stats().workers > settings.min) // The last ones go when they are idle.
    wait(10);

  const auto samples = watch.samples();
  save(settings.out, samples);
  const auto most = std::ranges::max(samples, {}, &Watch::Sample::workers).workers;
  std::cout << "workers: " << samples.front().workers << " at first, " << most
            << " at most, " << pool.stats().workers << " at the end\n";
}
