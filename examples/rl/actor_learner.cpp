// SPDX-License-Identifier: Apache-2.0
// A trainer as a system of supervised actors that never wait for each other's rounds:
// rollout actors play CartPole by the newest policy on a board, and put what they have
// lived through into a queue. A learner takes what is there, improves the policy, and
// puts it on the board. Kill any of them, or all at once: training continues from the
// learner's last checkpoint. Kill the program: so does the next run.
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <iomanip>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fiber/fiber.hpp>

#include "actor_critic.hpp"

using actor_critic::Model;
using actor_critic::Policy;
using Trajectories = fiber::Queue<actor_critic::Trajectory>;

constexpr std::size_t steps = 64;      ///< Of a trajectory. Few, so that it is recent.
constexpr std::size_t batch_size = 32; ///< Trajectories from which the learner learns.

/// Where the learner puts the newest policy.
class Board {
public:
  void put(Policy policy) { newest_ = std::move(policy); }
  Policy newest() const { return newest_; }

private:
  Policy newest_ = Model().policy;
};
template <>
inline constexpr bool fiber::idempotent<& Board::newest> = true; // May be called again.

class Rollout {
public:
  Rollout(std::uint64_t index, fiber::Ref<Board> board, Trajectories played)
    : player_(1, index), board_(std::move(board)), played_(std::move(played)) {}

  /// Plays until the queue is closed. put() waits while the queue is full.
  void run() {
    try {
      for (;;)
        played_.put(player_.play(board_.call<&Board::newest>(), steps));
    } catch (const fiber::Closed&) { // The training is over.
    }
  }

private:
  actor_critic::Player player_;
  fiber::Ref<Board> board_;
  Trajectories played_;
};

class Learner {
public:
  Learner(fiber::Ref<Board> board, Trajectories played, fiber::Checkpoint checkpoint)
    : board_(std::move(board)), played_(std::move(played)),
      checkpoint_(std::move(checkpoint)),
      model_(checkpoint_.load<Model>().value_or(Model())) {
    board_.send<&Board::put>(model_.policy);
  }

  /// Updates the model some times, saves it, and returns it.
  Model learn(int updates) {
    for (int i = 0; i < updates; ++i) {
      std::vector<actor_critic::Trajectory> batch;
      while (batch.size() < batch_size)
        batch.push_back(played_.get());
      model_.update(batch);
      board_.send<&Board::put>(model_.policy);
    }
    checkpoint_.save(model_);
    return model_;
  }

private:
  fiber::Ref<Board> board_;
  Trajectories played_;
  fiber::Checkpoint checkpoint_;
  Model model_;
};

/// Calls learn(), again if the learner's job is lost.
Model learn(const fiber::Ref<Learner>& learner, int updates) {
  for (;;)
    try {
      return learner.call<&Learner::learn>(updates);
    } catch (const fiber::WorkerLost&) {
      std::cout << "the learner is lost, and continues from its checkpoint" << std::endl;
    }
}

int main(int argc, char** argv) {
  auto session = fiber::init(argc, argv); // In another process, this call never returns.
  std::uint64_t rollouts = 4, updates = 200;
  std::string file = "out/actor_learner";
  CLI::App app{"Trains CartPole by a supervised learner and rollout actors"};
  app.add_option("--rollouts", rollouts, "Rollout actors")->capture_default_str();
  app.add_option("--updates", updates, "Updates of the policy")->capture_default_str();
  app.add_option("--checkpoint", file, "A file to resume from")->capture_default_str();
  CLI11_PARSE(app, argc, argv);

  std::filesystem::create_directories(std::filesystem::absolute(file).parent_path());
  Trajectories played(batch_size);
  fiber::Supervisor supervisor({.intensity = 100}); // Several may be lost at once.
  auto board = supervisor.spawn<Board>({.name = "board"});
  auto learner = supervisor.spawn<Learner>({.name = "learner"}, board, played,
                                           fiber::Checkpoint(file));
  auto run = [](fiber::Ref<Rollout> rollout) { rollout.send<&Rollout::run>(); };
  for (std::uint64_t i = 0; i < rollouts; ++i) {
    auto name = "rollout" + std::to_string(i);
    auto rollout = supervisor.spawn<Rollout>({.name = name}, i, board, played);
    run(rollout);
    supervisor.on_restart(rollout, run);
  }

  std::cout << std::fixed << std::setprecision(1);
  auto model = learn(learner, 0);
  if (model.updates > 0)
    std::cout << "resuming after update " << model.updates << " of " << file << '\n';
  while (model.updates < updates) {
    const auto begin = std::chrono::steady_clock::now();
    model = learn(learner, 10);
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
    std::cout << "update " << model.updates << ": mean return " << model.mean_return
              << ", " << static_cast<int>(10 * batch_size * steps / time.count())
              << " steps/s" << std::endl;
  }
  int restarts = 0;
  for (auto& child : supervisor.children())
    restarts += child.restarts;
  played.close();
  supervisor.stop();
  std::filesystem::remove(file);
  std::filesystem::remove(file + ".previous");
  const auto score = actor_critic::evaluate(model.policy, 1, 100);
  std::cout << "mean return of 100 fresh episodes: " << score << ", " << restarts
            << " restarts\n";
  return score >= 475 ? 0 : 1;
}
