// SPDX-License-Identifier: Apache-2.0
// Promise: a program without fiber::ppo_torch learns from vectors; from images it does
// not, and says what is missing.
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include "fiber/rl/ppo_trainer.hpp"

namespace {

using fiber::rl::PpoTrainer;

TEST(WithoutTorchTest, vectors_are_learned_from) {
  auto options = fiber::rl::ppo_defaults("pendulum");
  options.steps = options.envs * options.rollout;
  PpoTrainer trainer(options);
  EXPECT_GT(trainer.update().gradient_norm, 0);
}

TEST(WithoutTorchTest, images_are_an_error_that_names_what_is_missing) {
  try {
    PpoTrainer trainer(fiber::rl::ppo_defaults("breakout"));
    FAIL() << "no error";
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find("install libtorch-dev"), std::string::npos)
      << error.what();
  }
}

} // namespace
