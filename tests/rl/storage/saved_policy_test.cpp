// SPDX-License-Identifier: Apache-2.0
// A saved policy comes back whole, and only a policy does.

#include "fiber/rl/saved_policy.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <system_error>

#include <gtest/gtest.h>

#include "fiber/rl/checkpoint_file.hpp"
#include "fiber/rl/distributions.hpp"
#include "fiber/rl/environments.hpp"

namespace fiber::rl {
namespace {

namespace fs = std::filesystem;

class SavedPolicyTest : public testing::Test {
protected:
  SavedPolicyTest() {
    auto pattern = (fs::temp_directory_path() / "fiber-rl-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr)
      throw std::system_error(errno, std::generic_category(), "mkdtemp");
    folder_ = pattern;
    RunningMoments moments(2);
    moments.add(std::vector<float>{1, 2, 3, 5});
    policy_ = {
      .environment = "somewhere",
      .spec = {.spaces = {.observation_shape = {2}, .actions = 3}, .hidden = {4}},
      .observations = FrozenNormaliser(moments, 10, 1e-8)};
    policy_.parameters = initial_parameters(policy_.spec, 1);
  }
  ~SavedPolicyTest() override { fs::remove_all(folder_); }

  fs::path folder_;
  SavedPolicy policy_;
};

TEST_F(SavedPolicyTest, comes_back_whole) {
  save_policy(folder_ / "policy", policy_);
  EXPECT_EQ(load_policy(folder_ / "policy"), policy_);
}

TEST_F(SavedPolicyTest, has_all_its_parameters) {
  policy_.parameters.pop_back();
  EXPECT_THROW(save_policy(folder_ / "policy", policy_), std::invalid_argument);
  save_state(folder_ / "policy", {.kind = "fiber-rl-policy"}, policy_);
  EXPECT_THROW(load_policy(folder_ / "policy"), std::runtime_error);
}

struct Engine {
  using Action = int;
  static constexpr int actions = 1;
  static constexpr std::size_t observation_size = 1;
  static std::string physics() { return "Engine 7.0"; }
  void reset(std::uint64_t) {}
  Step step(Action) { return {}; }
  void observe(std::span<float>) const {}
};

TEST_F(SavedPolicyTest, names_the_physics_engine_on_which_it_was_trained) {
  register_environment<Engine>("engine");
  policy_.environment = "engine";
  save_policy(folder_ / "policy", policy_);
  EXPECT_EQ(physics_of_policy(folder_ / "policy"), "Engine 7.0");
  EXPECT_EQ(load_policy(folder_ / "policy"), policy_);
}

TEST_F(SavedPolicyTest, without_an_engine_names_none) {
  save_policy(folder_ / "policy", policy_);
  EXPECT_EQ(physics_of_policy(folder_ / "policy"), "");
  EXPECT_EQ(physics_of_policy(folder_ / "none"), "");
}

TEST_F(SavedPolicyTest, acts_on_observations_as_they_are_and_within_bounds) {
  policy_.spec.spaces = {
    .observation_shape = {2}, .action_low = {-0.001F}, .action_high = {0.001F}};
  policy_.parameters = initial_parameters(policy_.spec, 1);
  const std::vector<float> rows = {1, 2, 3, 5, 1.5F, 4};
  auto normalised = rows;
  policy_.observations.apply(normalised);
  Policy network(policy_.spec, policy_.parameters);
  const auto best = network.best(normalised);
  std::vector<float> expected(best.begin(), best.end());
  limit_actions(policy_.spec.spaces, expected);
  ASSERT_FALSE(std::ranges::equal(best, expected)); // Some leave the bounds.
  ActingPolicy acting(policy_);
  for (int i = 0; i < 2; ++i) { // The rows stay as they are.
    const auto actions = acting.act(rows);
    EXPECT_EQ(std::vector<float>(actions.begin(), actions.end()), expected);
  }
}

/// The bytes of a file of hexadecimal digits, as xxd -p writes it.
std::string bytes_of(const fs::path& path) {
  std::ifstream file(path);
  std::string bytes;
  for (char high = 0, low = 0; file >> high >> low;)
    bytes += static_cast<char>(std::stoi(std::string{high, low}, nullptr, 16));
  return bytes;
}

/// Written by ppo --env cartpole --hidden 2 --steps 256, when there was no LSTM.
TEST_F(SavedPolicyTest, of_the_time_before_recurrent_policies_can_be_loaded) {
  write_atomically(folder_ / "old", bytes_of(STORAGE_FIXTURES "/policy_before_lstm.hex"));
  const auto old = load_policy(folder_ / "old");
  EXPECT_EQ(old.environment, "cartpole");
  EXPECT_EQ(old.spec.describe(), "4 -> 2 -> 2 logits, tanh");
  EXPECT_EQ(old.spec.lstm, 0u);
  EXPECT_EQ(old.parameters.size(), 29u);
  save_policy(folder_ / "policy", old);
  EXPECT_EQ(load_policy(folder_ / "policy"), old);
}

struct RecurrentSavedPolicyTest : SavedPolicyTest {
  RecurrentSavedPolicyTest() {
    policy_.spec.lstm = 3;
    policy_.spec.spaces = {
      .observation_shape = {2}, .action_low = {-1}, .action_high = {1}};
    policy_.parameters = initial_parameters(policy_.spec, 1);
    for (auto& parameter : policy_.parameters)
      parameter += 0.3F;
  }
  const std::vector<float> first_ = {1, 2}, second_ = {3, 5}, both_ = {1, 2, 3, 5};
};

TEST_F(RecurrentSavedPolicyTest, comes_back_whole) {
  save_policy(folder_ / "policy", policy_);
  EXPECT_EQ(load_policy(folder_ / "policy"), policy_);
}

TEST_F(RecurrentSavedPolicyTest, acts_by_what_it_has_seen_in_the_episode) {
  ActingPolicy acting(policy_);
  const auto fresh = acting.act(first_)[0];
  const auto later = acting.act(first_)[0];
  EXPECT_NE(later, fresh);
  acting.begin_episode();
  EXPECT_EQ(acting.act(first_)[0], fresh);
  EXPECT_EQ(acting.act(first_)[0], later);
}

TEST_F(RecurrentSavedPolicyTest, rows_are_episodes_that_begin_one_by_one) {
  ActingPolicy acting(policy_);
  const auto fresh = acting.act(both_)[1];
  const auto first_later = acting.act(both_)[0];
  acting.begin_episode();
  acting.act(both_);
  acting.begin_episode(1);
  const auto actions = acting.act(both_);
  EXPECT_NEAR(actions[1], fresh, 1e-6);
  EXPECT_NEAR(actions[0], first_later, 1e-6);
  EXPECT_THROW(acting.begin_episode(2), std::out_of_range);
}

TEST_F(RecurrentSavedPolicyTest, another_number_of_rows_in_an_episode_is_an_error) {
  ActingPolicy acting(policy_);
  acting.act(both_);
  try {
    acting.act(second_);
    FAIL();
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(error.what(), "a recurrent policy gets 1 observations after 2: call "
                               "begin_episode() before their number changes");
  }
  acting.begin_episode();
  acting.act(second_);
}

TEST_F(SavedPolicyTest, a_file_that_is_not_there_is_an_error) {
  try {
    load_policy(folder_ / "none");
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_EQ(error.what(), "there is no file " + (folder_ / "none").string());
  }
}

} // namespace
} // namespace fiber::rl
