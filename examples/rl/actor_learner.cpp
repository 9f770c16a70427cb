// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <iomanip>
#include <iostream>
#include <mutex>
#include <numeric>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fiber/fiber.hpp>
#include <fiber/rl/checkpoint_file.hpp>
#include <fiber/rl/plot.hpp>

#include "actor_critic.hpp"

// A trainer as a system of supervised actors that never wait for each other's rounds:
// rollout actors play CartPole by the newest policy on a board, and put what they have
// lived through into a queue. A learner takes what is there, improves the policy, and
// puts it on the board. Kill any of them, or all at once: training goes on from the
// learner's last checkpoint. Kill the program: so does the next run.

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using actor_critic::Trajectory;
using Trajectories = fiber::Queue<Trajectory>;

constexpr std::uint64_t updates_a_report = 10; ///< And a checkpoint.
constexpr std::size_t steps_a_trajectory = 64; ///< Short: what is in the queue is young.
constexpr std::size_t trajectories_a_batch = 32; ///< From which the learner learns.

struct Setup {
  std::uint64_t seed = 1, updates = 150, rollouts = 4;
};

/// A policy, and the number of the update that made it.
using Version = std::pair<std::uint64_t, std::vector<float>>;

/// Where the learner puts the newest policy.
class Board {
public:
  void put(Version version) { newest_ = std::move(version); }
  /// Nothing, if there is none yet, or if it is the one that the caller has.
  std::optional<Version> newer(std::uint64_t than) const {
    return newest_ && newest_->first != than ? newest_ : std::nullopt;
  }

private:
  std::optional<Version> newest_;
};
template <>
inline constexpr bool fiber::idempotent<& Board::newer> = true;

class Rollout {
public:
  Rollout(const Setup& setup, std::uint64_t index, fiber::Ref<Board> board,
          Trajectories done)
    : player_(setup.seed, index), board_(std::move(board)), done_(std::move(done)),
      policy_(0, actor_critic::Parameters::initial(setup.seed).policy) {}

  /// Plays until the queue is closed. The queue has a capacity: who is ahead of the
  /// learner waits.
  void run() {
    try {
      for (;;) {
        if (auto newer = board_.call<&Board::newer>(policy_.first))
          policy_ = std::move(*newer);
        done_.put(player_.play(policy_.second, steps_a_trajectory));
      }
    } catch (const fiber::Closed&) { // The training is over.
    }
  }

private:
  actor_critic::Player player_;
  fiber::Ref<Board> board_;
  Trajectories done_;
  Version policy_;
};

/// Takes trajectories out of the queue while the learner learns from those before.
class Feed {
public:
  explicit Feed(Trajectories from)
    : from_(std::move(from)), thread_([this](std::stop_token stop) { run(stop); }) {}

  /// A batch, as soon as there is one.
  std::vector<Trajectory> take() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return ready_.size() >= trajectories_a_batch; });
    const auto end = ready_.begin() + trajectories_a_batch;
    std::vector<Trajectory> batch(std::make_move_iterator(ready_.begin()),
                                  std::make_move_iterator(end));
    ready_.erase(ready_.begin(), end);
    changed_.notify_all();
    return batch;
  }

private:
  void run(const std::stop_token& stop) {
    try {
      while (!stop.stop_requested()) {
        auto next = from_.get(100ms);
        std::unique_lock lock(mutex_);
        if (next)
          ready_.push_back(std::move(*next));
        changed_.notify_all();
        // No more than the next batch: what waits here gets old.
        changed_.wait(lock, stop, [&] { return ready_.size() < trajectories_a_batch; });
      }
    } catch (const fiber::Closed&) { // The training is over.
    }
  }

  Trajectories from_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<Trajectory> ready_;
  std::jthread thread_; ///< Last: it uses what is above.
};

/// What a checkpoint holds.
struct Progress {
  actor_critic::Learner learner;
  std::uint64_t steps = 0;   ///< Of the environment.
  std::vector<double> curve; ///< The mean return of the episodes that ended, by update.

  template <class Archive>
  void serialize(Archive& archive, unsigned) {
    archive& learner& steps& curve;
  }
};

/// What the driver shows.
struct Report {
  std::uint64_t updates = 0, steps = 0;
  double mean_return = 0;
  double waited = 0;  ///< Seconds, for trajectories, since the report before.
  double learned = 0; ///< And seconds of learning and saving.
};

class Learner {
public:
  Learner(const Setup& setup, fiber::Ref<Board> board, const Trajectories& done,
          fiber::Checkpoint checkpoint)
    : setup_(setup), board_(std::move(board)), checkpoint_(std::move(checkpoint)),
      feed_(done) {
    if (auto saved = checkpoint_.load<Progress>())
      progress_ = std::move(*saved);
    else
      progress_.learner = actor_critic::Learner(setup.seed);
    publish();
  }

  /// Makes some updates, as far as there are more to make.
  Report learn(std::uint64_t updates) {
    auto waited = Clock::duration(), learned = Clock::duration();
    for (; updates > 0 && progress_.learner.updates < setup_.updates; --updates) {
      const auto begin = Clock::now();
      const auto batch = feed_.take();
      const auto taken = Clock::now();
      improve(batch);
      waited += taken - begin;
      learned += Clock::now() - taken;
    }
    using Seconds = std::chrono::duration<double>;
    return {progress_.learner.updates, progress_.steps,
            progress_.curve.empty() ? 0 : progress_.curve.back(), Seconds(waited).count(),
            Seconds(learned).count()};
  }
  /// The mean return of fresh episodes.
  double evaluate(std::uint64_t episodes) const {
    double sum = 0;
    for (std::uint64_t i = 0; i < episodes; ++i)
      sum += actor_critic::evaluate(progress_.learner.parameters, setup_.seed, i);
    return sum / static_cast<double>(episodes);
  }
  std::vector<double> curve() const { return progress_.curve; }

private:
  void improve(const std::vector<Trajectory>& batch) {
    double sum = 0, episodes = 0;
    for (auto& each : batch) {
      progress_.steps += each.steps.size();
      sum += std::accumulate(each.returns.begin(), each.returns.end(), 0.0);
      episodes += static_cast<double>(each.returns.size());
    }
    auto before = progress_.curve.empty() ? 0 : progress_.curve.back();
    progress_.curve.push_back(episodes > 0 ? sum / episodes : before);
    auto& learner = progress_.learner;
    auto done =
      static_cast<double>(learner.updates) / static_cast<double>(setup_.updates);
    learner.update(batch, {}, 1 - 0.9 * done);
    publish();
    if (learner.updates % updates_a_report == 0)
      checkpoint_.save(progress_);
  }
  void publish() {
    auto& learner = progress_.learner;
    board_.send<&Board::put>(Version(learner.updates, learner.parameters.policy));
  }

  Setup setup_;
  fiber::Ref<Board> board_;
  fiber::Checkpoint checkpoint_;
  Progress progress_;
  Feed feed_;
};

/// What comes of a call; again, if it was lost with the learner's job.
template <class Call>
auto insist(Call call) {
  for (;;)
    try {
      return call();
    } catch (const fiber::WorkerLost&) {
      std::cout << "the learner is lost, and goes on from its checkpoint" << std::endl;
    }
}

/// Where the time of a training went.
struct Account {
  double seconds = 0, steps = 0, learned = 0, waited = 0;

  void add(double time, double done, const Report& report) {
    seconds += time;
    steps += done;
    learned += report.learned;
    waited += report.waited;
  }
  /// Nothing, if the training was over before.
  void print() const {
    if (seconds == 0)
      return;
    auto percent = [&](double part) { return 100 * part / seconds; };
    std::cout << std::setprecision(0) << steps / seconds
              << " steps/s; the learner learned for " << percent(learned)
              << " % of the time, and waited for trajectories for " << percent(waited)
              << " %\nlearner idle " << 100 - percent(learned) << " %\n";
  }
};

void save_curve(const std::filesystem::path& out, const std::vector<double>& curve) {
  std::ostringstream csv;
  csv << "update,mean_return\n";
  for (std::size_t i = 0; i < curve.size(); ++i)
    csv << i + 1 << ',' << curve[i] << '\n';
  std::filesystem::create_directories(out);
  fiber::rl::write_atomically(out / "curve.csv", csv.str());
  if (fiber::rl::plot_csv(out / "curve.csv", out / "curve.png",
                          {.title = "CartPole, actors and a learner",
                           .x_label = "update",
                           .solved_at = 475.0},
                          {{2, "mean of the episodes that ended"}}))
    std::cout << "curve: " << (out / "curve.png").string() << '\n';
}

/// Trains until `setup.updates` are done, with a line for each report.
Account train(const fiber::Ref<Learner>& learner, const Setup& setup, Report report) {
  std::cout << "updates    steps  mean return  steps/s  learner idle\n";
  Account account;
  while (report.updates < setup.updates) {
    auto begin = Clock::now();
    auto before = report;
    report = insist([&] { return learner.call<&Learner::learn>(updates_a_report); });
    auto seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    auto steps = std::max(
      static_cast<double>(report.steps) - static_cast<double>(before.steps), 0.0);
    account.add(seconds, steps, report);
    std::cout << std::setw(7) << report.updates << std::setw(9) << report.steps
              << std::fixed << std::setprecision(1) << std::setw(13) << report.mean_return
              << std::setprecision(0) << std::setw(9) << steps / seconds << std::setw(12)
              << 100 * (1 - report.learned / seconds) << " %" << std::endl;
  }
  return account;
}

int main(int argc, char** argv) {
  Setup setup;
  std::string out = "out/actor_learner";
  CLI::App app{"Trains CartPole by a supervised learner and rollout actors"};
  app.add_option("--rollouts", setup.rollouts, "rollout actors, a job each")
    ->check(CLI::Range(1, 1024))
    ->capture_default_str();
  app.add_option("--updates", setup.updates, "steps of the learner")
    ->check(CLI::PositiveNumber)
    ->capture_default_str();
  app.add_option("--seed", setup.seed)->capture_default_str();
  app.add_option("--out", out, "folder for the curve and the checkpoint")
    ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  auto session = fiber::init(argc, argv); // In another process, this call never returns.

  std::filesystem::create_directories(out);
  auto file = std::filesystem::path(out) / "checkpoint";
  fiber::Checkpoint checkpoint(file.string());
  Trajectories done(trajectories_a_batch);
  // All may be lost at once, and soon again.
  fiber::Supervisor supervisor({.intensity = static_cast<int>(10 * setup.rollouts + 20)});
  auto board = supervisor.spawn<Board>({.name = "board"});
  auto learner =
    supervisor.spawn<Learner>({.name = "learner"}, setup, board, done, checkpoint);
  auto run = [](fiber::Ref<Rollout> rollout) { rollout.send<&Rollout::run>(); };
  for (std::uint64_t i = 0; i < setup.rollouts; ++i) {
    auto rollout = supervisor.spawn<Rollout>({.name = "rollout" + std::to_string(i)},
                                             setup, i, board, done);
    run(rollout);
    supervisor.on_restart(rollout, run);
  }

  auto report = insist([&] { return learner.call<&Learner::learn>(0U); });
  if (report.updates > 0)
    std::cout << "going on from update " << report.updates << " of " << file.string()
              << '\n';
  auto account = train(learner, setup, report);
  auto score = insist([&] { return learner.call<&Learner::evaluate>(100U); });
  save_curve(out, insist([&] { return learner.call<&Learner::curve>(); }));
  int restarts = 0;
  for (auto& child : supervisor.children())
    restarts += child.restarts;
  done.close();
  supervisor.stop();
  std::filesystem::remove(file);
  std::filesystem::remove(file.string() + ".previous");
  account.print();
  std::cout << "mean return of 100 fresh episodes: " << std::setprecision(1) << score
            << ", " << restarts << " restarts" << std::endl;
  return score >= 475 ? 0 : 1;
}
