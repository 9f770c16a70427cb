// SPDX-License-Identifier: Apache-2.0
// A recurrent policy as a header in C acts through an episode as the policy does.

#include <fstream>
#include <limits>
#include <stdexcept>

#include "fiber/rl/export_policy.hpp"
#include "tests/rl/export/lstm_policy.hpp"

namespace fiber::rl::exporting_test {
namespace {

/// Reads the observations of an episode and writes actions.
constexpr const char* recurrent_program = R"(#include "policy.h"
#include <stdio.h>

int main(void) {
#ifdef MASKED
  unsigned char mask[policy_mask_size];
  FILE* const masks = fopen("masks", "rb");
#endif
  float observation[policy_observation_size];
  float action[policy_action_size];
  float memory[policy_memory_size] = {0};
  while (fread(observation, sizeof observation, 1, stdin) == 1) {
#ifdef MASKED
    if (fread(mask, sizeof mask, 1, masks) != 1)
      return 1;
    policy_act(observation, mask, memory, action);
#else
    policy_act(observation, memory, action);
#endif
    fwrite(action, sizeof action, 1, stdout);
  }
  return 0;
}
)";

using RecurrentExportTest = ExportTest;

TEST_F(RecurrentExportTest, a_header_in_c_acts_as_the_policy_does) {
  std::ofstream(folder / "main.c") << recurrent_program;
  for (const auto& sample : recurrent_samples()) {
    SCOPED_TRACE(sample.name);
    save_c_header(folder / "policy.h", sample.policy);
    ASSERT_NO_FATAL_FAILURE(
      run("cd " + folder.string() +
          " && " TEST_COMPILER
          " -x c -std=c99 -Wall -Wextra -Werror -pedantic -O1 main.c -o acts -lm" +
          (sample.masks.empty() ? "" : " -DMASKED")));
    write_numbers(folder / "rows", sample.rows);
    write_bytes(folder / "masks", sample.masks);
    ASSERT_NO_FATAL_FAILURE(run("cd " + folder.string() + " && ./acts < rows"));
    EXPECT_LE(largest_difference_of_actions(sample.policy, episode_of(sample).answers,
                                            numbers_of_file(folder / "output"), 1e-5),
              1e-5);
  }
}

TEST_F(RecurrentExportTest, a_number_of_an_lstm_that_is_not_finite_is_named) {
  auto policy = recurrent_samples()[1].policy;
  policy.parameters[2 + 5] = std::numeric_limits<float>::infinity(); // After log_std.
  try {
    save_onnx(folder / "policy.onnx", policy);
    FAIL();
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(error.what(),
                 "the policy can't be exported: number 5 of policy_lstm is inf");
  }
}

} // namespace
} // namespace fiber::rl::exporting_test
