// SPDX-License-Identifier: Apache-2.0
// Exported recurrent policies in ONNX Runtime and PyTorch, of the virtual environment
// FIBER_RL_VENV, give through an episode what the policy gives.

#include "fiber/rl/export_policy.hpp"
#include "tests/rl/export/lstm_policy.hpp"

namespace fiber::rl::exporting_test {
namespace {

using RecurrentElsewhereTest = ExportTest;

TEST_F(RecurrentElsewhereTest, an_episode_agrees) {
  for (const auto& sample : recurrent_samples()) {
    SCOPED_TRACE(sample.name);
    save_onnx(folder / "policy.onnx", sample.policy);
    save_safetensors(folder / "policy.safetensors", sample.policy);
    write_numbers(folder / "rows", sample.rows);
    write_masks(folder / "mask", sample.masks);
    ASSERT_NO_FATAL_FAILURE(
      run(TEST_PYTHON " " TEST_FOLDER "/run_lstm_elsewhere.py " + folder.string()));
    const auto [answers, values] = episode_of(sample);
    EXPECT_LE(largest_difference(answers.outputs, numbers_of_file(folder / "outputs")),
              1e-5);
    EXPECT_LE(largest_difference_of_actions(sample.policy, answers,
                                            numbers_of_file(folder / "action"), 1e-5),
              1e-5);
    EXPECT_LE(
      largest_difference(answers.outputs, numbers_of_file(folder / "torch.outputs")),
      1e-5);
    EXPECT_LE(largest_difference(values, numbers_of_file(folder / "torch.value")), 1e-5);
  }
}

} // namespace
} // namespace fiber::rl::exporting_test
