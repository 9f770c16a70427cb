// SPDX-License-Identifier: Apache-2.0
// A policy as ONNX gives what the policy gives. The file is read by evaluate_onnx.py,
// which is written from the format and the definitions of the operators.

#include <algorithm>

#include "fiber/rl/export_policy.hpp"
#include "tests/rl/export/policies.hpp"

namespace fiber::rl::exporting_test {
namespace {

class OnnxTest : public ExportTest {
protected:
  void SetUp() override {
    if (std::system(TEST_PYTHON " -c 'import numpy' 2> /dev/null") != 0)
      GTEST_SKIP() << "NumPy is not installed (Debian: python3-numpy)";
  }

  /// Returns what the reader says of the model. Its outputs are in the folder.
  std::string evaluate(const SavedPolicy& policy, std::span<const float> rows,
                       std::span<const std::uint8_t> masks = {}) {
    save_onnx(folder / "policy.onnx", policy);
    write_numbers(folder / "rows", rows);
    write_masks(folder / "mask", masks);
    run(TEST_PYTHON " " TEST_FOLDER "/evaluate_onnx.py " + folder.string());
    return content_of_file(folder / "output");
  }
};

TEST_F(OnnxTest, gives_what_the_policy_gives) {
  for (const auto& [name, policy, rows, masks] : samples()) {
    SCOPED_TRACE(name);
    ASSERT_NO_FATAL_FAILURE(evaluate(policy, rows, masks));
    const auto expected = answers_of(policy, rows, masks);
    const auto* outputs = policy.spec.spaces.discrete() ? "logits" : "mean";
    EXPECT_LE(largest_difference(expected.outputs, numbers_of_file(folder / outputs)),
              1e-5);
    EXPECT_LE(largest_difference_of_actions(policy, expected,
                                            numbers_of_file(folder / "action"), 1e-5),
              1e-5);
  }
}

TEST_F(OnnxTest, says_what_it_takes_and_what_it_is) {
  const auto all = samples();
  EXPECT_EQ(evaluate(all[0].policy, all[0].rows),
            "ir_version 7, opset 13\n"
            "input observation: float32 [batch, 5]\n"
            "output action: int64 [batch]\n"
            "output logits: float32 [batch, 4]\n"
            "environment: somewhere\n"
            "network: 5 -> 64 -> 64 -> 4 logits, tanh\n");
  EXPECT_EQ(evaluate(all.back().policy, all.back().rows),
            "ir_version 7, opset 13\n"
            "input observation: float32 [batch, 1]\n"
            "output action: float32 [batch, 1]\n"
            "output mean: float32 [batch, 1]\n"
            "environment: somewhere\n"
            "network: a single number -> 64 -> 64 -> 1 means, tanh\n");
}

TEST_F(OnnxTest, says_what_masked_and_multi_discrete_policies_take) {
  const auto all = samples();
  const auto sample = std::ranges::find(all, "masked_multi", &Sample::name);
  EXPECT_EQ(evaluate(sample->policy, sample->rows, sample->masks),
            "ir_version 7, opset 13\n"
            "input observation: float32 [batch, 5]\n"
            "input mask: float32 [batch, 9]\n"
            "output action: int64 [batch, 3]\n"
            "output logits: float32 [batch, 9]\n"
            "environment: somewhere\n"
            "network: 5 -> 16 -> 3+2+4 masked logits, tanh\n");
}

TEST_F(OnnxTest, the_first_of_equal_logits_is_the_action) {
  SavedPolicy policy{
    .environment = "somewhere",
    .spec = {.spaces = {.observation_shape = {2}, .actions = 3}, .hidden = {}}};
  policy.parameters.resize(policy.spec.parameter_count());
  evaluate(policy, std::vector<float>{1, 2});
  EXPECT_EQ(numbers_of_file(folder / "action"), std::vector<float>{0});
}

} // namespace
} // namespace fiber::rl::exporting_test
