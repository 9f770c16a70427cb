// SPDX-License-Identifier: Apache-2.0
// A training in an environment with a mistake ends, and says which.

#include <cstdlib>
#include <filesystem>

#include <unistd.h>

#include <gtest/gtest.h>

#include "tests/examples/program.hpp"

namespace {

struct EsTrainMistakes : testing::Test {
  std::filesystem::path folder =
    std::filesystem::path(testing::TempDir()) / ("mistakes-" + std::to_string(getpid()));

  ~EsTrainMistakes() override { std::filesystem::remove_all(folder); }

  std::string output_in(const std::string& environment) const {
    Program program({MISTAKEN_TRAIN, "--env", environment, "--iterations", "2",
                     "--directions", "2", "--evaluations", "2", "--workers", "1", "--out",
                     folder.string()});
    auto output = program.rest();
    EXPECT_EQ(program.wait(), 2) << output;
    return output;
  }
};

TEST_F(EsTrainMistakes, an_environment_that_crashes_ends_the_training) {
  const auto output = output_in("crashing");
  EXPECT_NE(output.find("es_train: task 0 "), std::string::npos) << output;
  EXPECT_NE(output.find("killed by SIGKILL"), std::string::npos) << output;
}

TEST_F(EsTrainMistakes, a_reward_that_is_not_finite_is_named_with_its_step) {
  const auto output = output_in("nan");
  EXPECT_NE(output.find("std::domain_error: step 20 of the episode with seed "),
            std::string::npos)
    << output;
  EXPECT_NE(output.find(": the reward is nan"), std::string::npos) << output;
}

TEST_F(EsTrainMistakes, an_observation_of_another_size_is_found_before_the_training) {
  EXPECT_EQ(output_in("narrow"),
            "es_train: environment narrow: observe() does not write number 1 of the "
            "observation, which has 2 numbers (0 to 1): set all of them each time, or "
            "observation_size to fewer\n");
}

TEST_F(EsTrainMistakes, a_session_that_cannot_begin_is_an_error_as_others_are) {
  ::setenv("FIBER_BACKEND", "nowhere", 1);
  const auto output = output_in("nan");
  ::unsetenv("FIBER_BACKEND");
  EXPECT_EQ(output.find("es_train: "), 0U) << output;
  EXPECT_NE(output.find("nowhere"), std::string::npos) << output;
}

} // namespace
