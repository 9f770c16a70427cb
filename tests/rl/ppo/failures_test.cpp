// SPDX-License-Identifier: Apache-2.0
// Promise: an environment that throws costs no more than its episode also where actors or
// learners play, or jobs do while the learner learns; the summary tells of it.
#include <cstdint>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include "fiber/rl/cartpole.hpp"
#include "fiber/rl/environments.hpp"
#include "fiber/rl/ppo_trainer.hpp"
#include "tests/e2e/support/fixture.hpp"

namespace fiber::rl {
namespace {

/// CartPole that throws in the 15th step of each third episode that has one.
class Faulty : public CartPole {
public:
  void reset(std::uint64_t seed) {
    CartPole::reset(seed);
    steps_ = 0;
    fails_ = seed % 3 == 0;
  }
  Step step(int action) {
    if (++steps_ == 15 && fails_)
      throw std::runtime_error("the simulator failed");
    return CartPole::step(action);
  }

private:
  int steps_ = 0;
  bool fails_ = false;
};

const bool registered = [] {
  register_environment<Faulty>("faulty");
  return true;
}();

PpoOptions small() {
  auto options = ppo_defaults("cartpole");
  options.environment = "faulty";
  options.envs = 4;
  options.rollout = 64;
  options.steps = 2048; // Eight rollouts.
  options.minibatch = 64;
  options.on_error = OnError::new_episode;
  return options;
}

struct FailuresTest : e2e::SessionTest {
  FailuresTest() { open(); }

  static void expect_told(const PpoTrainer& trainer, const std::string& first) {
    EXPECT_EQ(trainer.last_update().steps, 2048U);
    const auto text = trainer.summary();
    EXPECT_NE(text.find(" errors of environments, the first: " + first),
              std::string::npos)
      << text;
    EXPECT_TRUE(text.ends_with(" failed: the simulator failed")) << text;
  }
};

TEST_F(FailuresTest, of_actors_environments_cost_their_episodes) {
  auto options = small();
  options.actors = 2;
  PpoTrainer trainer(options);
  trainer.run();
  expect_told(trainer, "the actor of environments ");
}

TEST_F(FailuresTest, of_actors_environments_end_a_training_that_is_not_to_go_on) {
  auto options = small();
  options.actors = 2;
  options.on_error = OnError::stop;
  PpoTrainer trainer(options);
  try {
    trainer.run();
    FAIL() << "nothing was thrown";
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find("the simulator failed"), std::string::npos)
      << error.what();
  }
}

TEST_F(FailuresTest, in_jobs_cost_their_episodes_while_the_learner_learns) {
  auto options = small();
  options.overlap = true;
  PpoTrainer alone(options);
  alone.run();
  expect_told(alone, "environment ");
  options.jobs = 2;
  PpoTrainer jobs(options);
  jobs.run();
  expect_told(jobs, "environment ");
  EXPECT_EQ(jobs.policy().parameters, alone.policy().parameters);
}

#ifdef FIBER_HAS_RING
// One learner has fewer rows than the other, and both take as many steps of Adam.
TEST_F(FailuresTest, of_learners_environments_cost_their_episodes) {
  auto options = small();
  options.learners = 2;
  PpoTrainer trainer(options), again(options);
  trainer.run();
  again.run();
  expect_told(trainer, "environment ");
  EXPECT_EQ(trainer.summary(), again.summary());
  EXPECT_EQ(trainer.policy().parameters, again.policy().parameters);
}
#endif

} // namespace
} // namespace fiber::rl
