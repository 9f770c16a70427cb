// SPDX-License-Identifier: Apache-2.0
#include "rl/ppo/actors.hpp"

#include <chrono>
#include <stdexcept>
#include <string>
#include <utility>

#include "rl/ppo/seeds.hpp"

namespace fiber::rl::ppo {
namespace {

/// All actors may be lost at once, and soon again.
SupervisorOptions options_for(std::size_t actors) {
  SupervisorOptions options;
  options.intensity = static_cast<int>(10 * actors + 20);
  return options;
}

} // namespace

Actors::Actors(const PpoOptions& options, const PolicySpec& spec,
               const PublishedPolicy& policy,
               std::shared_ptr<std::atomic<std::uint64_t>> lives)
  : newest_(new Newest{{}, policy}), done_((options.actors + 1) / 2),
    supervisor_(options_for(options.actors)),
    board_(supervisor_.spawn<PolicyBoard>({.name = "board"}, policy)) {
  // A new board begins with the first policy.
  supervisor_.on_restart(board_, [newest = newest_](const Ref<PolicyBoard>& board) {
    std::unique_lock lock(newest->mutex);
    auto policy = newest->policy;
    lock.unlock();
    board.send<&PolicyBoard::put>(policy);
  });
  start(options, spec, lives);
}

void Actors::start(const PpoOptions& options, const PolicySpec& spec,
                   const std::shared_ptr<std::atomic<std::uint64_t>>& lives) {
  auto run = [lives](const Ref<RolloutActor>& actor) {
    actor.send<&RolloutActor::run>((*lives)++);
  };
  auto envs = options.envs;
  auto begin_of = [&](std::size_t i) { return i * envs / options.actors; };
  for (std::size_t i = 0; i < options.actors; ++i) {
    ActorOptions own;
    own.environment = options.environment;
    own.spec = spec;
    own.seed = options.seed;
    own.first_env = begin_of(i);
    own.envs = begin_of(i + 1) - begin_of(i);
    own.rollout = options.rollout;
    own.on_error = options.on_error;
    auto actor = supervisor_.spawn<RolloutActor>({.name = "actor" + std::to_string(i)},
                                                 own, board_, done_);
    supervisor_.on_restart(actor, run);
    run(actor);
  }
}

Actors::~Actors() {
  done_.close(); // Ends the actors' runs.
  supervisor_.stop();
}

void Actors::publish(const PublishedPolicy& policy) {
  {
    std::lock_guard lock(newest_->mutex);
    newest_->policy = policy;
  }
  board_.send<&PolicyBoard::put>(policy);
}

Trajectory Actors::take() {
  for (;;) {
    if (auto next = done_.get(std::chrono::seconds(1))) {
      if (!next->error.empty())
        throw std::runtime_error(next->error);
      return std::move(*next);
    }
    board_.call<&PolicyBoard::newer>(newest_->policy.version); // Throws if all is lost.
  }
}

std::size_t Actors::lost() const {
  std::size_t restarts = 0;
  for (auto& child : supervisor_.children())
    restarts += static_cast<std::size_t>(child.restarts);
  return restarts;
}

} // namespace fiber::rl::ppo
