// SPDX-License-Identifier: Apache-2.0
// Promise: PpoTrainer follows its options, ends where they say, and refuses options that
// make no sense.
#include "fiber/rl/ppo_trainer.hpp"

#include <functional>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

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
  EXPECT_EQ(refusal([](auto& o) { o.steps = 63; }),
            "steps must be at least one rollout: envs times rollout, 64");
  EXPECT_EQ(refusal([](auto& o) { o.actors = 3; }),
            "actors must be at most the number of environments, 2, not 3");
  EXPECT_EQ(refusal([](auto& o) { o.jobs = o.learners = 2; }),
            "at most one of jobs, actors and learners can play the environments");
  EXPECT_EQ(refusal([](auto& o) { o.learners = 3; }),
            "envs must be a multiple of learners, 3, not 2");
  EXPECT_NE(refusal([](auto& o) { o.environment = "nothing"; }).find("no environment"),
            std::string::npos);
}

} // namespace
} // namespace trainer_options
