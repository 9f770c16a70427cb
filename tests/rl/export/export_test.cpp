// SPDX-License-Identifier: Apache-2.0
// What can't be exported is refused, with the reason, and leaves no file.

#include "fiber/rl/export_policy.hpp"

#include <cmath>
#include <limits>
#include <stdexcept>
#include <system_error>

#include "tests/rl/export/policies.hpp"

namespace fiber::rl::exporting_test {
namespace {

class RefusedExportTest : public ExportTest {
protected:
  RefusedExportTest() { policy.parameters = initial_parameters(policy.spec, 1); }

  /// Expects the same refusal in each format.
  void expect_refusal(const std::string& reason) {
    for (const auto* name : {"policy.onnx", "policy.safetensors", "policy.h"})
      try {
        export_policy(folder / name, policy);
        FAIL() << name;
      } catch (const std::invalid_argument& error) {
        EXPECT_EQ(error.what(), "the policy can't be exported: " + reason) << name;
        EXPECT_TRUE(std::filesystem::is_empty(folder));
      }
  }

  SavedPolicy policy{
    .environment = "somewhere",
    .spec = {
      .spaces = {.observation_shape = {2}, .action_low = {-1, -1}, .action_high = {1, 1}},
      .hidden = {4}}};
};

TEST_F(RefusedExportTest, names_the_number_that_is_not_finite) {
  const auto good = policy.parameters;
  policy.parameters[1] = INFINITY;
  expect_refusal("number 1 of log_std is inf");
  policy.parameters = good;
  policy.parameters[2 + 4 * 2 + 3] = -INFINITY;
  expect_refusal("number 3 of policy.0.bias is -inf");
  policy.parameters = good;
  policy.parameters.back() = std::numeric_limits<float>::quiet_NaN();
  expect_refusal("number 0 of value.2.bias is nan");
}

TEST_F(RefusedExportTest, counts_the_parameters) {
  policy.parameters.pop_back();
  expect_refusal("a policy of 2 -> 4 -> 2 means, tanh has 41 parameters, not 40");
}

TEST_F(RefusedExportTest, checks_the_normaliser) {
  policy.observations = FrozenNormaliser({1, 2, 3}, {1, 1, 1}, 5);
  expect_refusal("its normaliser is for observations of 3 numbers, not 2");
  policy.observations = FrozenNormaliser({1, 2}, {1, 1}, -5);
  expect_refusal("its normaliser clips to -5; the limit must be 0 or more");
  policy.observations = FrozenNormaliser({1, 1e39}, {1, 1}, 5);
  expect_refusal("the mean of component 1 of observations is 1e+39, which is no finite "
                 "float");
}

TEST_F(RefusedExportTest, checks_the_bounds_of_actions) {
  policy.spec.spaces.action_low[1] = 2;
  expect_refusal("component 1 of an action has the bounds 2 and 1");
}

TEST_F(RefusedExportTest, knows_three_endings) {
  for (const auto* name : {"policy", "policy.pt", ".onnx"})
    try {
      export_policy(folder / name, policy);
      FAIL() << name;
    } catch (const std::invalid_argument& error) {
      EXPECT_EQ(error.what(), "the name of an exported policy must end in .onnx, "
                              ".safetensors or .h, which " +
                                (folder / name).string() + " does not");
    }
}

TEST_F(RefusedExportTest, names_a_file_that_cannot_be_written) {
  for (const auto* name :
       {"none/policy.onnx", "none/policy.safetensors", "none/policy.h"})
    try {
      export_policy(folder / name, policy);
      FAIL() << name;
    } catch (const std::system_error& error) {
      EXPECT_EQ(error.code(), std::errc::no_such_file_or_directory);
      EXPECT_NE(std::string(error.what()).find(folder / name), std::string::npos)
        << error.what();
    }
}

} // namespace
} // namespace fiber::rl::exporting_test
