// SPDX-License-Identifier: Apache-2.0
// A policy never takes what a mask forbids, and what remains has the probabilities that
// the logits of the rest give. Components of an action are independent.

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "fiber/rl/distributions.hpp"
#include "fiber/rl/policy.hpp"
#include "tests/rl/policy/golden.hpp"

namespace fiber::rl {
namespace {

using Mask = std::vector<std::uint8_t>;

PolicySpec masked() {
  return {.spaces = {.observation_shape = {2}, .actions = 5, .masked = true},
          .hidden = {4}};
}

PolicySpec multi(bool with_mask) {
  return {
    .spaces = {.observation_shape = {2}, .action_counts = {3, 2}, .masked = with_mask},
    .hidden = {4}};
}

Policy policy_of(const PolicySpec& spec) {
  return {spec, golden_numbers(spec.parameter_count(), 1, 1)};
}

const std::vector<float> observation = {0.5F, -1};

/// How often each action of the first component is drawn in so many draws.
std::vector<double> shares(Policy& policy, const Mask& mask, std::size_t draws,
                           std::size_t component = 0) {
  const auto& spaces = policy.spec().spaces;
  std::vector<double> found(static_cast<std::size_t>(spaces.choices()[component]));
  for (std::size_t i = 0; i < draws; ++i) {
    const auto drawn =
      policy.sample(observation, {.seed = 1, .step = i}, {.masks = mask});
    found[static_cast<std::size_t>(drawn.actions[component])] +=
      1 / static_cast<double>(draws);
  }
  return found;
}

/// The probabilities of logits, of those alone that are possible.
std::vector<double> softmax(std::span<const float> logits,
                            std::span<const std::uint8_t> mask) {
  std::vector<double> result;
  double sum = 0;
  for (std::size_t i = 0; i < logits.size(); ++i)
    sum += result.emplace_back(mask[i] != 0 ? std::exp(double{logits[i]}) : 0);
  for (auto& probability : result)
    probability /= sum;
  return result;
}

/// The logits without a mask.
std::vector<float> raw_logits(PolicySpec spec) {
  spec.spaces.masked = false;
  auto policy = policy_of(spec);
  const auto logits = policy.evaluate_policy(observation);
  return {logits.begin(), logits.end()};
}

TEST(MaskedPolicyTest, draws_the_rest_by_its_probabilities_and_nothing_else) {
  auto policy = policy_of(masked());
  const auto logits = raw_logits(masked());
  for (const Mask& mask :
       {Mask{1, 0, 1, 1, 0}, Mask{1, 1, 1, 1, 1}, Mask{0, 0, 0, 1, 0}}) {
    const auto expected = softmax(logits, mask);
    const auto found = shares(policy, mask, 20'000);
    for (std::size_t i = 0; i < 5; ++i) {
      EXPECT_NEAR(found[i], expected[i], 0.015) << i;
      if (mask[i] == 0) {
        EXPECT_EQ(found[i], 0) << i;
      }
    }
    const auto drawn = policy.sample(observation, {.seed = 4}, {.masks = mask});
    EXPECT_NEAR(std::exp(drawn.log_probabilities[0]),
                expected[static_cast<std::size_t>(drawn.actions[0])], 1e-6);
  }
}

TEST(MaskedPolicyTest, finds_the_best_of_what_is_possible) {
  auto policy = policy_of(masked());
  auto logits = raw_logits(masked());
  Mask mask(5, 1);
  for (std::size_t left = 5; left > 1; --left) {
    const auto best = most_probable(logits);
    EXPECT_EQ(policy.best(observation, {.masks = mask})[0], static_cast<float>(best));
    logits[best] = -1e9F;
    mask[best] = 0;
  }
}

TEST(MaskedPolicyTest, an_entropy_is_that_of_what_is_possible) {
  auto policy = policy_of(masked());
  const Mask mask{1, 0, 1, 1, 0};
  const auto outputs = policy.evaluate(observation, {.masks = mask}).policy;
  EXPECT_EQ(outputs[1], -std::numeric_limits<float>::infinity());
  double expected = 0;
  for (const double probability : softmax(raw_logits(masked()), mask))
    expected -= probability > 0 ? probability * std::log(probability) : 0;
  EXPECT_NEAR(categorical_entropy(outputs), expected, 1e-6);
}

TEST(MaskedPolicyTest, each_row_has_its_own_mask) {
  auto policy = policy_of(masked());
  const std::vector<float> two = {0.5F, -1, 0.5F, -1};
  const auto best = policy.best(two, {.masks = Mask{1, 0, 0, 0, 0, 0, 0, 0, 0, 1}});
  EXPECT_EQ(best[0], 0);
  EXPECT_EQ(best[1], 4);
}

TEST(MultiDiscretePolicyTest, components_are_independent) {
  for (const bool with_mask : {false, true}) {
    auto policy = policy_of(multi(with_mask));
    const auto logits = raw_logits(multi(false));
    const auto mask = with_mask ? Mask{1, 0, 1, 1, 1} : Mask{};
    const auto all = with_mask ? mask : Mask(5, 1);
    const auto first = softmax(std::span(logits).first(3), std::span(all).first(3)),
               second = softmax(std::span(logits).subspan(3), std::span(all).subspan(3));
    std::vector<double> together(6);
    constexpr int draws = 20'000;
    for (std::uint64_t i = 0; i < draws; ++i) {
      const auto drawn =
        policy.sample(observation, {.seed = 1, .step = i}, {.masks = mask});
      const auto a = static_cast<std::size_t>(drawn.actions[0]),
                 b = static_cast<std::size_t>(drawn.actions[1]);
      together[2 * a + b] += 1.0 / draws;
      ASSERT_NEAR(drawn.log_probabilities[0], std::log(first[a] * second[b]), 1e-5);
    }
    for (std::size_t a = 0; a < 3; ++a)
      for (std::size_t b = 0; b < 2; ++b)
        EXPECT_NEAR(together[2 * a + b], first[a] * second[b], 0.015) << a << ' ' << b;
  }
}

TEST(MultiDiscretePolicyTest, the_best_action_is_that_of_each_component) {
  const auto spec = multi(false);
  EXPECT_EQ(spec.outputs(), 5u);
  EXPECT_EQ(spec.describe(), "2 -> 4 -> 3+2 logits, tanh");
  EXPECT_EQ(multi(true).describe(), "2 -> 4 -> 3+2 masked logits, tanh");
  auto policy = policy_of(spec);
  const auto logits = raw_logits(spec);
  const auto best = policy.best(observation);
  ASSERT_EQ(best.size(), 2u);
  EXPECT_EQ(best[0], static_cast<float>(most_probable(std::span(logits).first(3))));
  EXPECT_EQ(best[1], static_cast<float>(most_probable(std::span(logits).subspan(3))));
}

TEST(MaskedPolicyTest, masks_that_do_not_fit_are_errors_with_numbers) {
  const auto error = [](const PolicySpec& spec, const Mask& mask) -> std::string {
    try {
      policy_of(spec).best(observation, {.masks = mask});
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_EQ(error(masked(), {}), "a policy of masked actions needs masks of 5 bytes for "
                                 "each observation, 5 for 1, not 0");
  EXPECT_EQ(error(multi(false), Mask(5, 1)),
            "a policy whose actions are not masked takes masks of 0 bytes for each "
            "observation, 0 for 1, not 5");
  EXPECT_EQ(error(multi(true), Mask{1, 0, 0, 0, 0}),
            "the mask of row 0 forbids each choice of component 1 of the action");
  EXPECT_NO_THROW(policy_of(masked()).evaluate_values(observation));
}

} // namespace
} // namespace fiber::rl
