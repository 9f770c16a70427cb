// SPDX-License-Identifier: Apache-2.0
// Promise: with PpoOptions::overlap a rollout is played while the learner learns from the
// one before. A training repeats byte for byte, also from a checkpoint, and fails, ends
// and leaves out rows as it does without.
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>

#include <unistd.h>

#include <gtest/gtest.h>

#include "fiber/rl/cartpole.hpp"
#include "fiber/rl/environments.hpp"
#include "fiber/rl/ppo_trainer.hpp"

namespace overlap_of_rollouts {
namespace {

namespace fs = std::filesystem;
using fiber::rl::PpoOptions;
using fiber::rl::PpoTrainer;

PpoOptions small(const std::string& environment = "cartpole") {
  auto options = fiber::rl::ppo_defaults("cartpole");
  options.environment = environment;
  options.envs = 2;
  options.rollout = 32;
  options.steps = 640; // Ten rollouts.
  options.minibatch = 32;
  options.normalise_observations = options.normalise_rewards = true;
  options.overlap = true;
  return options;
}

void expect_equal(const PpoTrainer& one, const PpoTrainer& other) {
  EXPECT_EQ(one.policy().parameters, other.policy().parameters);
  EXPECT_EQ(one.policy().observations, other.policy().observations);
  EXPECT_EQ(one.last_update().steps, other.last_update().steps);
  EXPECT_EQ(one.last_update().episodes, other.last_update().episodes);
  EXPECT_EQ(one.last_update().return_mean, other.last_update().return_mean);
}

struct Folder {
  fs::path path =
    fs::path(testing::TempDir()) / ("overlap-" + std::to_string(::getpid()));
  Folder() { fs::create_directories(path); }
  ~Folder() { fs::remove_all(path); }
};

TEST(OverlapTest, equal_options_learn_the_same_for_as_many_steps_as_without) {
  PpoTrainer one(small()), other(small());
  one.run();
  other.run();
  expect_equal(one, other);
  EXPECT_EQ(one.last_update().steps, 640U);
  EXPECT_GT(one.last_update().episodes, 5U);
  auto without = small();
  without.overlap = false;
  PpoTrainer alone(without);
  alone.run();
  EXPECT_EQ(alone.last_update().steps, 640U);
  EXPECT_NE(alone.policy().parameters, one.policy().parameters);
}

TEST(OverlapTest, a_training_goes_on_from_each_update_as_if_nothing_had_happened) {
  const Folder folder;
  PpoTrainer whole(small());
  whole.save(folder.path / "0");
  while (!whole.done()) {
    whole.update();
    whole.save(folder.path / std::to_string(whole.last_update().update));
  }
  for (int update = 0; update <= 10; ++update) {
    PpoTrainer later(small());
    ASSERT_TRUE(later.load(folder.path / std::to_string(update)));
    later.save(folder.path / "again");
    PpoTrainer latest(small());
    ASSERT_TRUE(latest.load(folder.path / "again"));
    latest.run();
    expect_equal(latest, whole);
  }
}

TEST(OverlapTest, a_checkpoint_is_none_of_a_training_without_overlap) {
  const Folder folder;
  PpoTrainer(small()).save(folder.path / "checkpoint");
  auto options = small();
  options.overlap = false;
  try {
    PpoTrainer(options).load(folder.path / "checkpoint");
    FAIL() << "nothing was thrown";
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find("is not a fiber-ppo-checkpoint file"),
              std::string::npos)
      << error.what();
  }
}

/// Counts the steps of all. While it is held, other threads than `main` begin none.
struct Gate {
  std::mutex mutex;
  std::condition_variable changed;
  bool held = false;
  std::uint64_t steps = 0;
  std::uint64_t fails_at = 0; ///< Throws at this step; 0: never.
  const std::thread::id main = std::this_thread::get_id();
  std::thread::id thread; ///< That of the last step.
};
Gate gate;

class Gated : public fiber::rl::CartPole {
public:
  fiber::rl::Step step(int action) {
    std::unique_lock lock(gate.mutex);
    gate.thread = std::this_thread::get_id();
    gate.changed.wait(lock, [] { return !gate.held || gate.thread == gate.main; });
    if (++gate.steps == gate.fails_at)
      throw std::runtime_error("the simulator failed");
    return CartPole::step(action);
  }
};

const bool registered = [] {
  fiber::rl::register_environment<Gated>("gated");
  return true;
}();

struct GateTest : testing::Test {
  GateTest() {
    gate.held = false;
    gate.steps = gate.fails_at = 0;
  }
};

TEST_F(GateTest, another_thread_plays_one_rollout_ahead_and_none_in_vain) {
  PpoTrainer trainer(small("gated"));
  EXPECT_EQ(gate.steps, 0U);
  trainer.update();
  EXPECT_EQ(gate.steps, 128U); // Between updates nothing is in flight.
  EXPECT_NE(gate.thread, std::this_thread::get_id());
  trainer.run();
  EXPECT_EQ(gate.steps, 640U);
}

TEST_F(GateTest, what_environments_throw_comes_out_of_the_update_that_needs_the_rollout) {
  gate.fails_at = 150; // In the third rollout.
  PpoTrainer trainer(small("gated"));
  trainer.update();
  trainer.update();
  try {
    trainer.update();
    FAIL() << "nothing was thrown";
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find("the simulator failed"), std::string::npos)
      << error.what();
  }
  EXPECT_EQ(trainer.last_update().update, 2U);
}

TEST_F(GateTest, rows_of_lost_episodes_are_left_out_and_told) {
  gate.fails_at = 150;
  auto options = small("gated");
  options.on_error = fiber::rl::OnError::new_episode;
  PpoTrainer trainer(options);
  trainer.run();
  EXPECT_EQ(trainer.last_update().steps, 640U);
  EXPECT_EQ(trainer.summary().find("1 errors of environments, the first: environment"),
            0U)
    << trainer.summary();
}

TEST_F(GateTest, a_learner_that_diverges_and_a_trainer_that_ends_wait_for_the_rollout) {
  const Folder folder;
  {
    auto options = small("gated");
    options.learning_rate = 1e30;
    options.anneal_learning_rate = false;
    PpoTrainer trainer(options);
    EXPECT_THROW(trainer.run(), std::runtime_error);
    const auto steps = gate.steps;
    EXPECT_EQ(steps % 64, 0U); // It is over.
  }
  PpoTrainer trainer(small("gated"));
  trainer.update();
  trainer.save(folder.path / "checkpoint");
  gate.held = true;
  {
    PpoTrainer loaded(small("gated"));
    loaded.load(folder.path / "checkpoint"); // Plays the rollout again.
    std::lock_guard lock(gate.mutex);
    gate.held = false;
    gate.changed.notify_all();
  } // Ends while the rollout is in flight.
}

} // namespace
} // namespace overlap_of_rollouts
