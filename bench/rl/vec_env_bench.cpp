// SPDX-License-Identifier: Apache-2.0
// vec_env_bench [ROW ...]: what VecEnv makes of this machine. Prints two figures a line,
// of intervals of 2 ms or one step: the median, and the best for a machine that is busy.
// Runners that are compared take turns.
//
//   cartpole  steps/s of 64 CartPoles, by the number of jobs, beside a bare farm of
//             forked processes
//   busy      steps/s of 256 environments that compute for 50 us a step, beside threads
//             of one process
//   slow      steps/s of 8 environments of 1 ms that wait, one of them 20 ms, in as many
//             jobs: all rows of each step, or the first half (batch = 4)
//   waiting   steps/s of 64 environments of 1 ms that wait, in 8 and in 64 jobs. Not run
//             unless it is named; waiting_by_messages does without shared memory
//   sleep_N   steps/s of N environments, a job each, beside a bare farm; N is 8, 32, 64,
//             128 or 256. A step sleeps as long as one of Atari's Breakout took
//             (--times), times --factor. Not run unless it is named

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>
#include <fiber/fiber.hpp>
#include <fiber/rl.hpp>

#include "bench/rl/bare_farm.hpp"

namespace {

using namespace fiber::rl;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// One of the programs compared: each call of `round` does `steps` steps.
struct Runner {
  std::string name;
  std::size_t steps;
  std::function<void()> round;
};

/// The rates of a runner in intervals of 2 ms, or of one round, for a while.
void measure(const Runner& runner, double while_seconds, std::vector<double>& rates) {
  constexpr double interval = 2e-3;
  for (const auto begin = Clock::now(); seconds_since(begin) < while_seconds;) {
    const auto start = Clock::now();
    std::size_t done = 0;
    double seconds = 0;
    do {
      runner.round();
      done += runner.steps;
      seconds = seconds_since(start);
    } while (seconds < interval);
    rates.push_back(static_cast<double>(done) / seconds);
  }
}

/// Prints the rates of all: of most intervals, and of the best one, which other programs
/// have left alone. The runners take turns, so that a busy machine is so for all.
void report(const std::vector<Runner>& runners) {
  constexpr int turns = 10;
  constexpr double turn_seconds = 0.2;
  std::vector<std::vector<double>> rates(runners.size());
  for (int turn = 0; turn < turns; ++turn)
    for (std::size_t i = 0; i < runners.size(); ++i)
      measure(runners[i], turn_seconds, rates[i]);
  for (std::size_t i = 0; i < runners.size(); ++i) {
    std::ranges::sort(rates[i]);
    std::printf("%-42s %10.0f steps/s, at best %10.0f\n", runners[i].name.c_str(),
                rates[i][rates[i].size() / 2], rates[i].back());
  }
  std::fflush(stdout);
}

void cartpoles() {
  constexpr std::size_t envs = 64;
  std::vector<int> actions(envs);
  for (std::size_t i = 0; i < envs; ++i)
    actions[i] = i % 2 == 0;
  for (const std::size_t jobs : {0, 1, 2, 4}) {
    VecEnv<CartPole> all({.envs = envs, .jobs = jobs});
    all.reset();
    std::vector<Runner> runners = {{"cartpole: VecEnv, jobs = " + std::to_string(jobs),
                                    envs, [&] { all.step(actions); }}};
    std::optional<bench::BareFarm> farm;
    if (jobs > 0) {
      farm.emplace(envs, jobs);
      runners.push_back({"cartpole: bare farm, processes = " + std::to_string(jobs), envs,
                         [&] { farm->step(actions); }});
    }
    report(runners);
  }
}

/// Computes for as long as its argument says.
class Busy {
public:
  using Action = int;
  static constexpr int actions = 2;
  static constexpr std::size_t observation_size = 4;
  explicit Busy(int rounds = 0) : rounds_(rounds) {}
  void reset(std::uint64_t) {}
  Step step(Action) {
    for (int i = 0; i < rounds_; ++i)
      value_ = value_ * 1.0000001 + 1e-9;
    return {.reward = value_};
  }
  void observe(std::span<float> out) const {
    std::ranges::fill(out, static_cast<float>(value_));
  }

private:
  int rounds_;
  double value_ = 1;
};

/// The seconds that this thread has had a core.
double core_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

/// How many rounds of a Busy take 50 us.
int rounds_of_50_us() {
  constexpr int trial = 1'000'000;
  double best = 1;
  for (int run = 0; run < 5; ++run) {
    Busy busy(trial);
    const auto start = core_seconds();
    [[maybe_unused]] const volatile double computed = busy.step(0).reward;
    best = std::min(best, core_seconds() - start);
  }
  return static_cast<int>(trial * 50e-6 / best);
}

/// Threads that step environments of this process, a share each.
class Threads {
public:
  Threads(std::vector<Busy>& envs, std::size_t count)
    : start_(static_cast<std::ptrdiff_t>(count) + 1),
      end_(static_cast<std::ptrdiff_t>(count) + 1) {
    for (std::size_t i = 0; i < count; ++i)
      threads_.emplace_back([this, &envs, i, count] {
        for (start_.arrive_and_wait(); !over_; start_.arrive_and_wait()) {
          for (auto id = i * envs.size() / count; id < (i + 1) * envs.size() / count;
               ++id)
            envs[id].step(0);
          end_.arrive_and_wait();
        }
      });
  }
  ~Threads() {
    over_ = true;
    start_.arrive_and_wait();
  }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

  void step() {
    start_.arrive_and_wait();
    end_.arrive_and_wait();
  }

private:
  std::atomic<bool> over_ = false;
  std::barrier<> start_, end_;
  std::vector<std::jthread> threads_;
};

void busy() {
  constexpr std::size_t envs = 256;
  const auto rounds = rounds_of_50_us();
  const auto workers = fiber::cpu_count();
  const std::vector<int> actions(envs);
  VecEnv<Busy> few({.envs = envs, .jobs = workers}, rounds);
  few.reset();
  VecEnv<Busy> many({.envs = envs, .jobs = 4 * workers}, rounds);
  many.reset();
  std::vector<Busy> here(envs, Busy(rounds));
  Threads threads(here, workers);
  report({{"busy 50 us: VecEnv, jobs = " + std::to_string(workers), envs,
           [&] { few.step(actions); }},
          {"busy 50 us: VecEnv, jobs = " + std::to_string(4 * workers), envs,
           [&] { many.step(actions); }},
          {"busy 50 us: threads = " + std::to_string(workers), envs,
           [&] { threads.step(); }}});
}

/// Waits a millisecond, and as many more as its action says.
class Waiting {
public:
  using Action = int;
  static constexpr int actions = 20;
  static constexpr std::size_t observation_size = 1;
  void reset(std::uint64_t) {}
  Step step(Action action) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1 + action));
    return {};
  }
  void observe(std::span<float> out) const { out[0] = 0; }
};

void slow() {
  constexpr std::size_t envs = 8;
  auto action_of = [](int id) { return id == 0 ? 19 : 0; };
  std::vector<int> ids(envs), actions(envs);
  std::iota(ids.begin(), ids.end(), 0);
  std::ranges::transform(ids, actions.begin(), action_of);
  VecEnv<Waiting> all({.envs = envs, .jobs = envs});
  all.reset();
  VecEnv<Waiting> half({.envs = envs, .batch = envs / 2, .jobs = envs});
  half.reset();
  half.send(actions, ids);
  const std::vector<int> all_actions = actions;
  report({{"one of 8 slow: all rows of each step", envs, [&] { all.step(all_actions); }},
          {"one of 8 slow: batch = 4", envs / 2, [&] {
             const auto& batch = half.recv();
             ids.assign(batch.env_ids.begin(), batch.env_ids.end());
             actions.resize(ids.size());
             std::ranges::transform(ids, actions.begin(), action_of);
             half.send(actions, ids);
           }}});
}

/// In shared memory, or by messages as to jobs on other machines.
void waiting(bool messages) {
  constexpr std::size_t envs = 64;
  const std::vector<float> actions(envs);
  for (const std::size_t jobs : {8, 64}) {
    auto hosts = detail::hosts_of(fiber::bind(&detail::make_erased<Waiting>));
    hosts->messages_only = messages;
    AnyVecEnv all({.envs = envs, .jobs = jobs}, std::move(hosts));
    all.reset();
    report({{"waiting 1 ms, jobs = " + std::to_string(jobs), envs,
             [&] { all.step(actions); }}});
  }
}

/// The next step sleeps as long as the next of the durations, in seconds; the seed of a
/// reset decides which is the first.
class Recorded {
public:
  using Action = int;
  static constexpr int actions = 2;
  static constexpr std::size_t observation_size = 1;
  explicit Recorded(std::vector<double> durations = {1e-3})
    : durations_(std::move(durations)) {}
  void reset(std::uint64_t seed) { at_ = seed % durations_.size(); }
  Step step(Action) {
    std::this_thread::sleep_for(
      std::chrono::duration<double>(durations_[at_++ % durations_.size()]));
    return {};
  }
  void observe(std::span<float> out) const { out[0] = 0; }

private:
  std::vector<double> durations_;
  std::size_t at_ = 0;
};

std::vector<double> read_durations(const std::string& file, double factor) {
  std::ifstream lines(file);
  std::vector<double> durations;
  for (double seconds = 0; lines >> seconds;)
    durations.push_back(factor * seconds);
  if (durations.empty() || !lines.eof())
    throw std::runtime_error("--times: " + file +
                             " must have a number of seconds a line");
  return durations;
}

/// The time that many rounds take together.
class Total {
public:
  explicit Total(std::function<void()> round) : round_(std::move(round)) {}
  /// Runs rounds until these seconds are over.
  void run(double seconds) {
    const auto start = Clock::now();
    do {
      round_();
      ++rounds_;
    } while (seconds_since(start) < seconds);
    seconds_ += seconds_since(start);
  }
  std::size_t rounds() const { return rounds_; }
  double seconds_a_round() const { return seconds_ / static_cast<double>(rounds_); }

private:
  std::function<void()> round_;
  std::size_t rounds_ = 0;
  double seconds_ = 0;
};

/// A step lasts as long as its slowest environment, so that single intervals differ much:
/// rates are those of all steps.
void sleeping(std::size_t envs, const std::vector<double>& durations) {
  const std::vector<int> actions(envs);
  VecEnv<Recorded> all({.envs = envs, .jobs = envs}, durations);
  all.reset();
  bench::BareFarm farm(envs, envs, durations);
  Total ours([&] { all.step(actions); }), bare([&] { farm.step(actions); });
  for (int turn = 0; turn < 5; ++turn) {
    ours.run(1);
    bare.run(1);
  }
  const auto name = "sleep " + std::to_string(envs);
  for (const auto& [runner, total] :
       {std::pair{": VecEnv", &ours}, {": bare farm", &bare}})
    std::printf("%-42s %10.0f steps/s\n", (name + runner).c_str(),
                static_cast<double>(envs) / total->seconds_a_round());
  std::printf("%s: the bare farm reaches %.0f %% of ideal\n", name.c_str(),
              100 * farm.ideal_seconds(bare.rounds()) /
                (static_cast<double>(bare.rounds()) * bare.seconds_a_round()));
}

} // namespace

int main(int argc, char** argv) {
  const auto session = fiber::init(argc, argv);
  std::string times;
  double factor = 1;
  std::map<std::string, std::function<void()>> parts = {
    {"cartpole", cartpoles}, {"busy", busy}, {"slow", slow}};
  parts["waiting"] = [] { waiting(false); };
  parts["waiting_by_messages"] = [] { waiting(true); };
  for (const std::size_t envs : {8, 32, 64, 128, 256})
    parts["sleep_" + std::to_string(envs)] = [&, envs] {
      sleeping(envs, read_durations(times, factor));
    };
  std::vector<std::string> rows = {"cartpole", "busy", "slow"};
  CLI::App app("What VecEnv makes of this machine");
  app.add_option("ROW", rows)->check(CLI::IsMember(parts));
  app.add_option("--times", times, "A file of seconds, one a line, for the rows sleep_N");
  app.add_option("--factor", factor, "Of these seconds")->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);
  try {
    for (const auto& row : rows)
      parts[row]();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "vec_env_bench: %s\n", error.what());
    return 1;
  }
}
