// SPDX-License-Identifier: Apache-2.0
// A saved policy reads back as it was, and what is none is refused.

#include "rl/es_train/files.hpp"

#include <fstream>
#include <iterator>
#include <limits>

#include <unistd.h>

#include <gtest/gtest.h>

namespace fiber::rl::es_train {
namespace {

namespace fs = std::filesystem;

struct FilesTest : testing::Test {
  fs::path folder =
    fs::path(testing::TempDir()) / ("fiber-es-" + std::to_string(getpid()));
  fs::path path = folder / "file";

  FilesTest() { fs::create_directories(folder); }
  ~FilesTest() override { fs::remove_all(folder); }

  std::string content() const {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void overwrite(const std::string& text) const {
    std::ofstream(path, std::ios::binary) << text;
  }
};

SavedPolicy some_policy() {
  Spaces spaces;
  spaces.observation_shape = {1};
  spaces.action_low = {-2.0f};
  spaces.action_high = {1.0f / 3};
  return {.environment = "mine",
          .policy = evolved_policy(spaces, {1}),
          .normaliser = FrozenNormaliser(std::vector<double>{1.0 / 3}, {7}, 5),
          .parameters = {1.0f / 3, -1e-30f, 3e38f, 0.0f}};
}

TEST_F(FilesTest, a_policy_reads_back_to_the_last_bit) {
  const auto policy = some_policy();
  save_policy(path, policy);
  const auto loaded = load_policy(path);
  EXPECT_EQ(loaded.environment, policy.environment);
  EXPECT_EQ(loaded.policy, policy.policy);
  EXPECT_EQ(loaded.normaliser, policy.normaliser);
  EXPECT_EQ(loaded.parameters, policy.parameters);
}

TEST_F(FilesTest, a_policy_for_discrete_actions_without_hidden_layers_reads_back) {
  Spaces spaces;
  spaces.observation_shape = {2};
  spaces.actions = 2;
  const SavedPolicy policy = {.environment = "x",
                              .policy = evolved_policy(spaces, {}),
                              .normaliser = {},
                              .parameters = {1, 2, 3, 4, 5, 6}};
  save_policy(path, policy);
  const auto loaded = load_policy(path);
  EXPECT_EQ(loaded.policy, policy.policy);
  EXPECT_TRUE(loaded.normaliser.identity());
  EXPECT_EQ(loaded.parameters, policy.parameters);
}

TEST_F(FilesTest, a_policy_for_masked_or_multi_discrete_actions_reads_back) {
  for (const bool masked : {false, true})
    for (const auto& counts : {std::vector<int>{}, std::vector<int>{3, 2}}) {
      Spaces spaces{.observation_shape = {1}, .action_counts = counts, .masked = masked};
      if (counts.empty())
        spaces.actions = 5;
      SavedPolicy policy;
      policy.environment = "x";
      policy.policy = evolved_policy(spaces, {});
      policy.parameters.resize(evolved_parameter_count(policy.policy));
      save_policy(path, policy);
      EXPECT_EQ(load_policy(path).policy, policy.policy) << content();
    }
}

TEST_F(FilesTest, what_is_no_policy_is_refused) {
  const std::string head = "fiber-es-policy 2\nenvironment x\nobservations 1\nhidden"
                           "\nactions discrete 1\nnormalised 0 0\nparameters 2\n";
  overwrite(head + "0.5\n1\n");
  EXPECT_EQ(load_policy(path).parameters, (std::vector<float>{0.5f, 1.0f}));
  for (const auto& bad : {std::string(), std::string("hello\n"), head, head + "0.5\n",
                          head + "0.5x\n1\n", head + "1\n1\n1\n", head.substr(0, 40)}) {
    overwrite(bad);
    EXPECT_THROW(load_policy(path), std::runtime_error) << bad;
  }
  EXPECT_THROW(load_policy(folder / "none"), std::runtime_error);
}

TEST_F(FilesTest, a_curve_is_csv_with_a_header) {
  save_curve(path, {{.iteration = 1, .policy_mean = 20.5, .seconds = 0.25, .episodes = 7},
                    {.iteration = 2,
                     .policy_mean = std::numeric_limits<double>::quiet_NaN(),
                     .seconds = 0.5,
                     .episodes = 14}});
  EXPECT_EQ(content(),
            "iteration,population_mean,population_best,policy_mean,seconds,episodes\n"
            "1,0,0,20.5,0.25,7\n"
            "2,0,0,,0.5,14\n"); // Not evaluated.
}

} // namespace
} // namespace fiber::rl::es_train
