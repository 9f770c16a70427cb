// SPDX-License-Identifier: Apache-2.0
// Promise: PpoTrainer follows its options, ends where they say, and refuses options that
// make no sense.
#include "fiber/rl/ppo_trainer.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include "fiber/rl/cartpole.hpp"
#include "fiber/rl/environments.hpp"
#include "rl/ppo/behaviour_policy.hpp"
#include "rl/ppo/rollout.hpp"

namespace trainer_options {
namespace {

using fiber::rl::PpoOptions;
using fiber::rl::PpoTrainer;

PpoOptions small() {
  auto options = fiber::rl::ppo_defaults("cartpole");
  options.envs = 2;
  options.rollout = 32;
  options.steps = 200; // Three rollouts of 64, and a rest.
  options.minibatch = 32;
  return options;
}

TEST(PpoTrainerTest, it_trains_the_network_that_the_options_describe) {
  auto options = small();
  options.hidden = {{16, 8}};
  options.activation = fiber::rl::Activation::relu;
  const PpoTrainer trainer(options);
  EXPECT_EQ(trainer.network(), "4 -> 16 -> 8 -> 2 logits, relu");
  EXPECT_EQ(trainer.policy().spec.hidden, *options.hidden);
}

TEST(PpoTrainerTest, it_is_done_when_another_rollout_would_exceed_the_steps) {
  PpoTrainer trainer(small());
  int rows = 0;
  trainer.run([&](const fiber::rl::PpoUpdate& row) {
    EXPECT_EQ(row.update, static_cast<std::uint64_t>(++rows));
    EXPECT_EQ(row.columns().size(), fiber::rl::PpoUpdate::column_names().size());
    return true;
  });
  EXPECT_EQ(rows, 3);
  EXPECT_TRUE(trainer.done());
  EXPECT_EQ(trainer.last_update().steps, 192u);
}

TEST(PpoTrainerTest, calls_that_come_too_late_are_errors) {
  PpoTrainer trainer(small());
  trainer.run();
  EXPECT_THROW(trainer.update(), std::logic_error);
  EXPECT_THROW(trainer.load("checkpoint"), std::logic_error);
  EXPECT_THROW(PpoTrainer(small(), nullptr), std::invalid_argument);
}

TEST(PpoTrainerTest, a_run_ends_when_its_caller_says_so) {
  PpoTrainer trainer(small());
  trainer.run([](const fiber::rl::PpoUpdate&) { return false; });
  EXPECT_EQ(trainer.last_update().update, 1u);
}

TEST(PpoTrainerTest, equal_options_learn_the_same_and_another_seed_does_not) {
  auto learnt = [](std::uint64_t seed) {
    auto options = small();
    options.seed = seed;
    PpoTrainer trainer(options);
    trainer.run();
    return trainer.policy().parameters;
  };
  EXPECT_EQ(learnt(1), learnt(1));
  EXPECT_NE(learnt(1), learnt(2));
}

TEST(PpoTrainerTest,
     a_checkpoint_travels_as_bytes_and_goes_on_as_if_nothing_had_happened) {
  PpoTrainer whole(small()), first(small()), second(small());
  whole.run();
  first.update();
  second.restore(first.checkpoint());
  EXPECT_EQ(second.last_update().update, 1u);
  second.run();
  EXPECT_EQ(second.policy().parameters, whole.policy().parameters);
  EXPECT_THROW(first.restore(second.checkpoint()), std::logic_error);
}

TEST(PpoTrainerTest, bytes_that_are_no_checkpoint_of_this_training_are_errors) {
  const auto refusal = [](const PpoOptions& options, const std::string& bytes) {
    try {
      PpoTrainer(options).restore(bytes);
    } catch (const std::runtime_error& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  const auto saved = PpoTrainer(small()).checkpoint();
  EXPECT_EQ(refusal(small(), saved), "no error");
  EXPECT_NE(refusal(small(), saved.substr(0, saved.size() - 1))
              .find("the checkpoint is truncated"),
            std::string::npos);
  auto other = small();
  other.seed = 2;
  EXPECT_NE(
    refusal(other, saved).find("the checkpoint was saved with other settings:\n  seed"),
    std::string::npos);
  EXPECT_NE(refusal(small(), "").find("the checkpoint is "), std::string::npos);
}

/// CartPole that throws in the 15th step of each episode that has one.
class Failing : public fiber::rl::CartPole {
public:
  void reset(std::uint64_t seed) {
    CartPole::reset(seed);
    steps_ = 0;
  }
  fiber::rl::Step step(int action) {
    if (++steps_ == 15)
      throw std::runtime_error("the simulator failed");
    return CartPole::step(action);
  }

private:
  int steps_ = 0;
};

const bool registered = [] {
  fiber::rl::register_environment<Failing>("failing");
  return true;
}();

TEST(PpoTrainerTest, environments_that_throw_end_the_training_or_only_their_episodes) {
  auto options = small();
  options.environment = "failing";
  EXPECT_THROW(PpoTrainer(options).run(), std::runtime_error);
  options.on_error = fiber::rl::OnError::new_episode;
  PpoTrainer trainer(options);
  trainer.run();
  EXPECT_EQ(trainer.last_update().steps, 192u);
  EXPECT_NE(trainer.summary().find("errors of environments"), std::string::npos)
    << trainer.summary();
  EXPECT_NE(trainer.summary().find("the simulator failed"), std::string::npos)
    << trainer.summary();
}

TEST(PpoTrainerTest, rows_of_lost_episodes_are_left_out_of_learning) {
  auto options = small();
  options.environment = "failing";
  options.on_error = fiber::rl::OnError::new_episode;
  fiber::rl::ppo::Rollouts rollouts(options, 1);
  rollouts.play(
    *fiber::rl::ppo::behaviour_policy(options.policy_spec(rollouts.spaces())));
  const auto failed = rollouts.failures().errors;
  EXPECT_GT(failed, 0u);
  EXPECT_EQ(rollouts.samples().size(), options.envs * options.rollout - failed);
  EXPECT_EQ(rollouts.samples().observations.size(), 4 * rollouts.samples().size());
}

TEST(PpoTrainerTest, options_that_make_no_sense_are_errors_that_name_them) {
  auto refusal = [](const std::function<void(PpoOptions&)>& change) -> std::string {
    auto options = small();
    change(options);
    try {
      PpoTrainer trainer(options);
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(refusal([](auto& o) { o.envs = 0; }), "envs must be at least 1");
  EXPECT_EQ(refusal([](auto& o) { o.device = "cuda:x"; }),
            "device must be cpu, cuda, or cuda:N for GPU number N, counted from 0, not "
            "'cuda:x'");
  EXPECT_EQ(refusal([](auto& o) { o.device = "cuda"; }),
            "device cuda: the network 4 -> 64 -> 64 -> 2 logits, tanh is trained on the "
            "CPU by Eigen, which is faster for networks that small. Leave device at cpu, "
            "or learn from images or with a network of your own");
  EXPECT_EQ(refusal([](auto& o) { o.steps = 63; }),
            "steps must be at least one rollout: envs times rollout, 64");
  EXPECT_EQ(refusal([](auto& o) { o.actors = 3; }),
            "actors must be at most the number of environments, 2, not 3");
  EXPECT_EQ(refusal([](auto& o) { o.jobs = o.learners = 2; }),
            "at most one of jobs, actors and learners can play the environments");
  EXPECT_EQ(
    refusal([](auto& o) { o.step_timeout = std::chrono::seconds(1); }),
    "step_timeout needs jobs: only the end of a process interrupts an environment "
    "that hangs");
  EXPECT_EQ(refusal([](auto& o) { o.learners = 3; }),
            "envs must be a multiple of learners, 3, not 2");
  EXPECT_EQ(refusal([](auto& o) {
              o.actors = 2;
              o.overlap = true;
            }),
            "overlap is not for actors, which play while the learner learns anyway, nor "
            "for learners");
  EXPECT_EQ(refusal([](auto& o) { o.max_gradient_norm = -1; }),
            "the norm at which gradients are clipped must be above 0");
  EXPECT_NE(refusal([](auto& o) { o.environment = "nothing"; }).find("no environment"),
            std::string::npos);
}

} // namespace
} // namespace trainer_options
