// SPDX-License-Identifier: Apache-2.0
// Evolution strategies whose episodes are slept instead of simulated: paper_es. The
// pool, the broadcast of the parameters, the noise table, the ranks and Adam are real.
// bench/paper/es runs it; bench/README.md says what it measures.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <sys/resource.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <fiber/fiber.hpp>
#include <fiber/rl/bipedal_walker.hpp>
#include <fiber/rl/evolution_evaluation.hpp>

#include "bench/paper/killer.hpp"
#include "bench/paper/watch.hpp"
#include "bench/peers/measurement.hpp"

namespace {

using Clock = std::chrono::steady_clock;
using Noise = fiber::SharedArray<float>;
namespace rl = fiber::rl;

constexpr std::uint64_t seed = 1;
constexpr std::size_t table_size = std::size_t{1} << 22; // As es_train's.

struct Options {
  std::string draws; ///< A file of microseconds, one line for each task.
  std::size_t workers = 32;
  std::size_t workers_per_job = 1;
  std::size_t population = 2048;
  std::size_t iterations = 50;
  double kill = 0;                      ///< The share of workers killed an iteration.
  std::vector<paper::ResizeAt> resizes; ///< By seconds since the start.
  std::string samples;                  ///< A CSV file of the workers over time.
  bool physics = false;
};

/// What a task gets: a candidate, and how long its episode takes.
struct Candidate {
  std::uint64_t offset = 0;
  float step = 0; ///< +sigma or -sigma.
  std::uint32_t microseconds = 0;
};

struct Verdict {
  double fitness = 0;
  double seconds = 0; ///< That the task took.
  std::int32_t pid = 0;
};

/// The network of POET's walker: 24, 40, 40, 4 units, 2,804 parameters.
const rl::PolicySpec& policy() {
  static const auto spec =
    rl::evolved_policy(rl::spaces_of(rl::BipedalWalkerHardcore()), {40, 40});
  return spec;
}

/// Stands for a return, which is lost with the episode: minus the mean squared distance
/// from a point. It needs all parameters, so a wrong broadcast shows in the end.
double fitness_of(const std::vector<float>& candidate) {
  double sum = 0;
  for (std::size_t i = 0; i < candidate.size(); ++i) {
    const double apart =
      static_cast<double>(candidate[i]) - 0.1 * static_cast<double>(i % 7);
    sum -= apart * apart;
  }
  return sum / static_cast<double>(candidate.size());
}

Verdict sleep_episode(const std::vector<float>& parameters, const Noise& noise,
                      Candidate task) {
  const auto begin = Clock::now();
  const auto fitness =
    fitness_of(rl::perturbed(parameters, noise, task.offset, task.step));
  std::this_thread::sleep_until(begin + std::chrono::microseconds(task.microseconds));
  return {fitness, std::chrono::duration<double>(Clock::now() - begin).count(),
          ::getpid()};
}

Verdict play_episode(const std::vector<float>& parameters, const Noise& noise,
                     Candidate task) {
  const auto begin = Clock::now();
  rl::EvolvedPolicy actor(policy(),
                          rl::perturbed(parameters, noise, task.offset, task.step), {});
  const auto fitness =
    rl::rollout(*rl::erase<rl::BipedalWalkerHardcore>(), actor, task.offset);
  return {fitness, std::chrono::duration<double>(Clock::now() - begin).count(),
          ::getpid()};
}

std::vector<std::uint32_t> read_draws(const Options& options) {
  std::ifstream in(options.draws);
  std::vector<std::uint32_t> draws;
  for (std::uint32_t microseconds = 0; in >> microseconds;)
    draws.push_back(microseconds);
  const auto wanted = options.population * options.iterations;
  if (!in.eof() || draws.size() != wanted)
    throw std::invalid_argument(
      options.draws + ": expected " + std::to_string(wanted) +
      " lines, a number of microseconds each (population x iterations), found " +
      std::to_string(draws.size()));
  return draws;
}

/// Seconds of processor time that this process has used.
double processor_seconds() {
  rusage used = {};
  ::getrusage(RUSAGE_SELF, &used);
  auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

/// Memory of this process that is in use and shared with nobody's file, in MB.
double megabytes() {
  std::ifstream status("/proc/self/status");
  for (std::string key; status >> key;) {
    double kilobytes = 0;
    if (key == "RssAnon:" && status >> kilobytes)
      return kilobytes * 1024 / 1e6;
  }
  throw std::runtime_error("/proc/self/status has no RssAnon");
}

/// FNV-1a of the parameters' bytes.
std::uint64_t hash_of(std::span<const float> parameters) {
  std::uint64_t hash = 14695981039346656037u;
  for (auto byte : std::as_bytes(parameters))
    hash = (hash ^ std::to_integer<std::uint64_t>(byte)) * 1099511628211u;
  return hash;
}

std::vector<Candidate> candidates(const std::vector<std::uint64_t>& offsets, float sigma,
                                  std::span<const std::uint32_t> draws) {
  std::vector<Candidate> tasks;
  for (std::size_t i = 0; i < draws.size(); ++i)
    tasks.push_back({offsets[i / 2], i % 2 == 0 ? sigma : -sigma, draws[i]});
  return tasks;
}

/// One run of the strategy.
class Run {
public:
  Run(Options options, std::vector<std::uint32_t> draws)
    : options_(std::move(options)), draws_(std::move(draws)),
      table_(rl::make_noise_table(table_size, seed)),
      noise_(fiber::share(std::span<const float>(table_))),
      search_(rl::initial_evolved_parameters(policy(), seed), table_, seed,
              {.directions = options_.population / 2}),
      pool_({.workers = options_.workers,
             .workers_per_job = options_.workers_per_job,
             .max_retries = -1}),
      killer_(options_.kill, options_.workers) {}

  void play() {
    start();
    const auto begin = Clock::now();
    const auto used = processor_seconds();
    paper::Watch watch(pool_, options_.resizes);
    for (std::size_t i = 0; i < options_.iterations; ++i) {
      iterate(i);
      memory_.push_back(megabytes());
    }
    const std::chrono::duration<double> took = Clock::now() - begin;
    report(took.count(), processor_seconds() - used);
    if (!options_.samples.empty())
      watch.save(options_.samples);
  }

private:
  /// Binds what all tasks of an iteration need.
  template <class F>
  auto evaluation(F function) {
    const auto now = search_.parameters();
    return fiber::bind(function, std::vector<float>(now.begin(), now.end()), noise_);
  }

  /// Starts the workers. Each maps the noise and shows its pid.
  void start() {
    const auto begin = Clock::now();
    if (!pool_.wait_until_workers_up(std::chrono::minutes(5)))
      throw std::runtime_error("the workers are not up after five minutes");
    const std::chrono::duration<double> took = Clock::now() - begin;
    peers::report("es_start", took.count(), "s");
    const std::vector<Candidate> warm(options_.workers, Candidate{0, 0, 200000});
    for (const auto& each : pool_.map(evaluation(sleep_episode), warm, {.chunksize = 1}))
      killer_.saw(each.pid);
  }

  void iterate(std::size_t number) {
    const auto draws =
      std::span(draws_).subspan(number * options_.population, options_.population);
    const auto tasks = candidates(search_.ask(), search_.options().sigma, draws);
    const auto total = std::accumulate(draws.begin(), draws.end(), 0.0);
    killer_.begin(1e-6 * total / static_cast<double>(options_.workers));
    const auto verdicts =
      pool_.map(options_.physics ? evaluation(play_episode) : evaluation(sleep_episode),
                tasks, {.chunksize = 1});
    killer_.end();
    std::vector<rl::MirroredReturns> returns(verdicts.size() / 2);
    for (std::size_t i = 0; i < verdicts.size(); ++i) {
      auto& pair = returns[i / 2];
      (i % 2 == 0 ? pair.plus : pair.minus) = verdicts[i].fitness;
      killer_.saw(verdicts[i].pid);
      busy_ += verdicts[i].seconds;
    }
    search_.tell(returns);
  }

  void report(double seconds, double used) {
    const auto stats = pool_.stats();
    peers::report("es", seconds, "s");
    peers::report("es_busy", busy_, "s");
    peers::report("es_driver", 100 * used / seconds, "%");
    const auto begin = memory_.begin() + static_cast<std::ptrdiff_t>(memory_.size() / 5);
    peers::report("es_memory_begin", memory_.front(), "MB");
    peers::report("es_memory_fifth", *begin, "MB");
    peers::report("es_memory_end", memory_.back(), "MB");
    peers::report("es_sent", static_cast<double>(stats.bytes_sent) / 1e6, "MB");
    peers::report("es_killed", static_cast<double>(killer_.killed()), "workers");
    peers::report("es_lost", static_cast<double>(stats.workers_lost), "workers");
    peers::report("es_retries", static_cast<double>(stats.retries), "tasks");
    std::printf("{\"policy\": \"%016llx\"}\n",
                static_cast<unsigned long long>(hash_of(search_.parameters())));
  }

  Options options_;
  std::vector<std::uint32_t> draws_;
  std::vector<float> table_;
  Noise noise_;
  rl::Evolution search_;
  fiber::Pool pool_;
  paper::Killer killer_;
  std::vector<double> memory_; ///< After each iteration, in MB.
  double busy_ = 0;            ///< Seconds of all tasks.
};

} // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Evolution strategies with slept episodes; bench/paper/es runs it");
  app
    .add_option("--draws", options.draws, "File: microseconds of each episode, in order")
    ->required();
  app.add_option("--workers", options.workers)->check(CLI::PositiveNumber);
  app.add_option("--workers-per-job", options.workers_per_job)
    ->check(CLI::PositiveNumber);
  app.add_option("--population", options.population, "Candidates; an even number")
    ->check(CLI::PositiveNumber);
  app.add_option("--iterations", options.iterations)->check(CLI::PositiveNumber);
  app.add_option("--kill", options.kill, "Share of the workers killed an iteration")
    ->check(CLI::Range(0.0, 1.0));
  app.add_option("--resize", options.resizes, "SECONDS:WORKERS, such as 10:1024 30:32");
  app.add_option("--samples", options.samples, "CSV file: workers and tasks over time");
  app.add_flag("--physics", options.physics, "Play the episodes; --draws only counts");
  CLI11_PARSE(app, argc, argv);
  auto session = fiber::init(argc, argv); // In a worker, this call never returns.
  try {
    if (options.population % 2 != 0)
      throw std::invalid_argument("--population must be even: directions are mirrored");
    auto draws = read_draws(options);
    Run(options, std::move(draws)).play();
  } catch (const std::exception& error) {
    std::cerr << "paper_es: " << error.what() << '\n';
    return 1;
  }
}
