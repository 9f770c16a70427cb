// SPDX-License-Identifier: Apache-2.0
// Environments of Gymnasium in jobs: each job starts an interpreter of its own, the
// driver starts none, and the rows are those of one process.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "fiber/error.hpp"
#include "fiber/rl/gym.hpp"
#include "fiber/rl/vec_env.hpp"
#include "tests/e2e/support/fixture.hpp"

extern "C" int Py_IsInitialized();

namespace fiber::rl {
namespace {

class GymJobs : public e2e::SessionTest {
protected:
  static std::vector<double> play(VecEnv<GymEnv<int>>& envs) {
    std::vector<double> seen;
    const std::vector<int> actions = {0, 1, 2, 1};
    envs.reset();
    for (int step = 0; step < 12; ++step) {
      const auto& batch = envs.step(actions);
      seen.insert(seen.end(), batch.observations.begin(), batch.observations.end());
      seen.insert(seen.end(), batch.rewards.begin(), batch.rewards.end());
      seen.insert(seen.end(), batch.truncated.begin(), batch.truncated.end());
    }
    return seen;
  }
};

TEST_F(GymJobs, give_the_rows_of_one_process_and_leave_the_driver_without_python) {
  open();
  const GymOptions options{.id = "Count-v0", .arguments = {"truncated_at=4"}};
  std::vector<double> in_jobs;
  {
    VecEnv<GymEnv<int>> envs({.envs = 4, .jobs = 2, .seed = 5}, options);
    in_jobs = play(envs);
  }
  EXPECT_FALSE(Py_IsInitialized());
  VecEnv<GymEnv<int>> here({.envs = 4, .seed = 5}, options);
  EXPECT_EQ(in_jobs, play(here));
  EXPECT_TRUE(Py_IsInitialized());
  close();
}

TEST_F(GymJobs, an_id_may_be_given_when_the_program_runs) {
  open();
  AnyVecEnv envs({.envs = 2, .jobs = 1}, "Move-v0");
  EXPECT_EQ(envs.spaces().action_low, (std::vector<float>{-2, -2}));
  envs.reset();
  const std::vector<float> actions = {1, 2, 3, -1};
  EXPECT_EQ(envs.step(actions).observation(1)[2], 3);
}

TEST_F(GymJobs, an_exception_of_python_crosses_with_its_traceback) {
  open();
  VecEnv<GymEnv<int>> envs({.envs = 1, .jobs = 1}, std::string("Raises-v0"));
  envs.reset();
  try {
    envs.step(std::vector<int>{0});
    FAIL() << "nothing was thrown";
  } catch (const std::exception& error) {
    const std::string what = error.what();
    EXPECT_NE(what.find("Traceback (most recent call last)"), what.npos) << what;
    EXPECT_NE(what.find("ValueError: the cart has left the table"), what.npos) << what;
  }
}

} // namespace
} // namespace fiber::rl
