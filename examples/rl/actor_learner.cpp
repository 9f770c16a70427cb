// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <iomanip>
#include <iostream>
#include <numeric>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fiber/fiber.hpp>

#include "es/files.hpp"
#include "rl/actor_critic.hpp"

// A trainer as a system of supervised actors: rollout actors play CartPole, a learner
// improves the policy by what they have lived through. Kill any of them, or all at once:
// training goes on from the learner's last checkpoint. Kill the program: so does the next
// run.

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

/// What a rollout actor is to play: a number that the trajectory is to bear, and by what.
using Order = std::pair<std::uint64_t, fiber::Shared<rl::Parameters>>;
using Orders = fiber::Queue<Order>;
using Trajectories = fiber::SimpleQueue<rl::Trajectory>;

constexpr std::uint64_t updates_a_report = 10; ///< And a checkpoint.

struct Setup {
  std::uint64_t seed = 1, updates = 150, rollouts = 4;
  std::uint64_t steps = 2048; ///< For each update, by all rollout actors.
};

class Rollout {
public:
  Rollout(Setup setup, std::uint64_t index, Orders orders, Trajectories done)
    : player_(setup.seed, es::Use::training_episode, index),
      steps_(setup.steps / setup.rollouts), orders_(std::move(orders)),
      done_(std::move(done)) {}

  /// Plays until there are no more orders.
  void run() {
    try {
      for (;;) {
        auto [number, parameters] = orders_.get();
        auto trajectory = player_.play(*parameters, steps_);
        trajectory.order = number;
        done_.put(trajectory);
      }
    } catch (const fiber::Closed&) { // The training is over.
    }
  }

private:
  rl::Player player_;
  std::size_t steps_;
  Orders orders_;
  Trajectories done_;
};

/// What a checkpoint holds.
struct Progress {
  rl::Learner learner;
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
  double waited = 0;  ///< Seconds, for trajectories, since the last report.
  double learned = 0; ///< And seconds of learning and saving.
};

class Learner {
public:
  Learner(Setup setup, Trajectories done, fiber::Checkpoint checkpoint)
    : setup_(setup), done_(std::move(done)), checkpoint_(std::move(checkpoint)) {
    if (auto saved = checkpoint_.load<Progress>())
      progress_ = std::move(*saved);
    else
      progress_.learner = rl::Learner(setup.seed);
  }

  rl::Parameters parameters() const { return progress_.learner.parameters; }

  /// Learns by the trajectories of an order. Returns how many are still missing, if none
  /// has come for a while: who had the order may be dead.
  std::uint64_t learn(std::uint64_t order) {
    constexpr auto patience = 1s;
    if (std::exchange(order_, order) != order)
      batch_.clear();
    while (batch_.size() < setup_.rollouts) {
      auto begin = Clock::now();
      auto trajectory = done_.get(patience);
      waited_ += Clock::now() - begin;
      if (!trajectory)
        return setup_.rollouts - batch_.size();
      if (trajectory->order == order) // Else of a learner that is no more.
        batch_.push_back(std::move(*trajectory));
    }
    auto begin = Clock::now();
    improve();
    learned_ += Clock::now() - begin;
    batch_.clear();
    return 0;
  }

  Report report() {
    auto seconds = [](Clock::duration& time) {
      return std::chrono::duration<double>(std::exchange(time, {})).count();
    };
    return {progress_.learner.updates, progress_.steps,
            progress_.curve.empty() ? 0 : progress_.curve.back(), seconds(waited_),
            seconds(learned_)};
  }
  /// The mean return of fresh episodes.
  double evaluate(std::uint64_t episodes) const {
    double sum = 0;
    for (std::uint64_t i = 0; i < episodes; ++i)
      sum += rl::evaluate(progress_.learner.parameters, setup_.seed, i);
    return sum / static_cast<double>(episodes);
  }
  std::vector<double> curve() const { return progress_.curve; }

private:
  void improve() {
    double sum = 0, episodes = 0;
    for (auto& each : batch_) {
      progress_.steps += each.steps.size();
      sum += std::accumulate(each.returns.begin(), each.returns.end(), 0.0);
      episodes += static_cast<double>(each.returns.size());
    }
    auto before = progress_.curve.empty() ? 0 : progress_.curve.back();
    progress_.curve.push_back(episodes > 0 ? sum / episodes : before);
    auto done = static_cast<double>(progress_.learner.updates) /
                static_cast<double>(setup_.updates);
    progress_.learner.update(batch_, {}, 1 - 0.9 * done);
    if (progress_.learner.updates % updates_a_report == 0)
      checkpoint_.save(progress_);
  }

  Setup setup_;
  Trajectories done_;
  fiber::Checkpoint checkpoint_;
  Progress progress_;
  std::uint64_t order_ = 0;
  std::vector<rl::Trajectory> batch_;
  Clock::duration waited_{}, learned_{};
};

/// What comes of a call; again, if it was lost with the learner's job.
template <class Call>
auto insist(Call call) {
  for (;;)
    try {
      return call();
    } catch (const fiber::WorkerLost&) {
    }
}

/// One update. If the learner is lost meanwhile it has what its checkpoint has.
void train_once(const fiber::Ref<Learner>& learner, Orders orders, const Setup& setup) {
  static std::uint64_t number = 0;
  try {
    Order order{++number, fiber::share(learner.call<&Learner::parameters>())};
    auto missing = setup.rollouts;
    while (missing > 0) {
      for (; missing > 0; --missing)
        orders.put(order);
      missing = learner.call<&Learner::learn>(order.first);
    }
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
              << " % of the time, waited for trajectories for " << percent(waited)
              << " %, for orders for " << percent(seconds - learned - waited) << " %\n";
  }
};

void save_curve(const std::filesystem::path& out, const std::vector<double>& curve) {
  std::ostringstream csv;
  csv << "update,mean_return\n";
  for (std::size_t i = 0; i < curve.size(); ++i)
    csv << i + 1 << ',' << curve[i] << '\n';
  std::filesystem::create_directories(out);
  es::write_atomically(out / "curve.csv", csv.str());
  if (es::plot_curve(out / "curve.csv", out / "curve.png",
                     "CartPole, actors and a learner", 475.0,
                     {{2, "mean of the episodes that ended"}}))
    std::cout << "curve: " << (out / "curve.png").string() << '\n';
}

/// Trains until `setup.updates` are done, with a line for each report.
Account train(const fiber::Ref<Learner>& learner, Orders& orders, const Setup& setup,
              Report report) {
  std::cout << "updates    steps  mean return  steps/s  learner waits\n";
  Account account;
  while (report.updates < setup.updates) {
    auto begin = Clock::now();
    auto before = report;
    for (std::uint64_t i = 0; i < updates_a_report; ++i)
      train_once(learner, orders, setup);
    report = insist([&] { return learner.call<&Learner::report>(); });
    auto seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    auto steps = std::max(
      static_cast<double>(report.steps) - static_cast<double>(before.steps), 0.0);
    account.add(seconds, steps, report);
    std::cout << std::setw(7) << report.updates << std::setw(9) << report.steps
              << std::fixed << std::setprecision(1) << std::setw(13) << report.mean_return
              << std::setprecision(0) << std::setw(9) << steps / seconds << std::setw(13)
              << 100 * report.waited / seconds << " %" << std::endl;
  }
  return account;
}

int main(int argc, char** argv) {
  Setup setup;
  std::string out = "actor_learner_out";
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
  Orders orders(4 * setup.rollouts);
  Trajectories done;
  // All may be lost at once, and soon again.
  fiber::Supervisor supervisor({.intensity = static_cast<int>(10 * setup.rollouts)});
  auto run = [](fiber::Ref<Rollout> rollout) { rollout.send<&Rollout::run>(); };
  for (std::uint64_t i = 0; i < setup.rollouts; ++i) {
    auto rollout = supervisor.spawn<Rollout>({.name = "rollout" + std::to_string(i)},
                                             setup, i, orders, done);
    run(rollout);
    supervisor.on_restart(rollout, run);
  }
  auto learner = supervisor.spawn<Learner>({.name = "learner"}, setup, done, checkpoint);

  auto report = insist([&] { return learner.call<&Learner::report>(); });
  if (report.updates > 0)
    std::cout << "going on from update " << report.updates << " of " << file.string()
              << '\n';
  auto account = train(learner, orders, setup, report);
  auto score = insist([&] { return learner.call<&Learner::evaluate>(100U); });
  save_curve(out, insist([&] { return learner.call<&Learner::curve>(); }));
  int restarts = 0;
  for (auto& child : supervisor.children())
    restarts += child.restarts;
  orders.close();
  supervisor.stop();
  std::filesystem::remove(file);
  std::filesystem::remove(file.string() + ".previous");
  account.print();
  std::cout << "mean return of 100 fresh episodes: " << std::setprecision(1) << score
            << ", " << restarts << " restarts" << std::endl;
  return score >= 475 ? 0 : 1;
}
