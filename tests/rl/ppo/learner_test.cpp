// SPDX-License-Identifier: Apache-2.0
// Promise: losses, gradients and parameters of an update are PyTorch's, and Policy infers
// from a learner's parameters what LibTorch does.
#include "rl/ppo/learner.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "fiber/detail/classic_locale.hpp"
#include "fiber/rl/policy.hpp"
#include "tests/rl/ppo/wave.hpp"

namespace {

constexpr std::size_t rows = 48;

using fiber::rl::ppo::tests::wave;

fiber::rl::PolicySpec spec_of(std::vector<std::size_t> shape, int actions,
                              std::size_t action_size) {
  fiber::rl::Spaces spaces;
  spaces.observation_shape = std::move(shape);
  spaces.actions = actions;
  if (actions == 0) {
    spaces.action_low.assign(action_size, -2);
    spaces.action_high.assign(action_size, 2);
  }
  return fiber::rl::default_policy(spaces);
}

fiber::rl::PolicySpec choices_spec(std::vector<int> counts, bool masked) {
  fiber::rl::Spaces spaces{.observation_shape = {4}, .masked = masked};
  if (counts.size() == 1)
    spaces.actions = counts[0];
  else
    spaces.action_counts = std::move(counts);
  return fiber::rl::default_policy(spaces);
}

/// What each row takes, as in the script.
std::vector<float> choices_of(const fiber::rl::Spaces& spaces, std::size_t count) {
  std::vector<float> actions;
  for (std::size_t row = 0; row < count; ++row)
    for (std::size_t i = 0; i < spaces.choices().size(); ++i)
      actions.push_back(
        static_cast<float>((row + i) % static_cast<std::size_t>(spaces.choices()[i])));
  return actions;
}

/// Masks that allow these actions, as in the script.
std::vector<std::uint8_t> masks_for(const fiber::rl::Spaces& spaces,
                                    std::span<const float> actions) {
  std::vector<std::uint8_t> masks;
  const auto n = actions.size() / std::max<std::size_t>(1, spaces.action_size());
  for (const float value : wave(n * spaces.mask_size(), 0.8, 1))
    masks.push_back(value > 0 ? 1 : 0);
  std::size_t begin = 0;
  for (std::size_t i = 0; i < actions.size() && spaces.masked; ++i) {
    masks[begin + static_cast<std::size_t>(actions[i])] = 1;
    begin += static_cast<std::size_t>(spaces.choices()[i % spaces.action_size()]);
  }
  return masks;
}

/// A learner and the samples that the script made.
struct Case {
  fiber::rl::PolicySpec spec;
  std::vector<float> observations, actions, log_probabilities, values, advantages,
    returns;
  std::vector<std::uint8_t> masks = {};
  fiber::rl::ppo::Learner learner;

  Case(fiber::rl::PolicySpec of, double size, fiber::rl::PpoOptions options)
    : spec(std::move(of)),
      observations(wave(rows * spec.spaces.observation_size(), 0.2, 1)),
      actions(wave(rows * spec.spaces.action_size(), 0.7, 1.5)),
      log_probabilities(wave(rows, 0.3, 0.3)), values(wave(rows, 0.4, 0.5)),
      advantages(wave(rows, 0.5, 2)), returns(wave(rows, 0.6, 1)),
      learner(spec, wave(spec.parameter_count(), 0.1, size), options, 1) {
    for (auto& value : log_probabilities)
      value -= 1;
    if (spec.spaces.discrete())
      actions = choices_of(spec.spaces, rows);
    masks = masks_for(spec.spaces, actions);
  }
  fiber::rl::ppo::Samples samples() const {
    return {observations, actions, log_probabilities, values, advantages, returns, masks};
  }
};

fiber::rl::PpoOptions one_minibatch(double entropy, bool clip_values = false) {
  return {.minibatch = rows,
          .epochs = 3,
          .entropy_coefficient = entropy,
          .clip_values = clip_values};
}

Case case_of(const std::string& name) {
  if (name == "discrete")
    return {spec_of({4}, 3, 0), 0.3, one_minibatch(0.01)};
  if (name == "clipped_values")
    return {spec_of({4}, 3, 0), 0.3, one_minibatch(0.01, true)};
  if (name == "continuous")
    return {spec_of({5}, 0, 2), 0.3, one_minibatch(0.001)};
  if (name == "masked")
    return {choices_spec({3}, true), 0.3, one_minibatch(0.1)};
  if (name == "multi_discrete")
    return {choices_spec({3, 2, 4}, false), 0.3, one_minibatch(0.1)};
  if (name == "masked_multi_discrete")
    return {choices_spec({3, 2, 4}, true), 0.3, one_minibatch(0.1)};
  return {spec_of({2, 36, 36}, 4, 0), 0.1, one_minibatch(0.01)};
}

/// What the script wrote about a case.
struct Recorded {
  std::size_t parameters = 0;
  fiber::rl::ppo::Losses losses;
  std::vector<double> gradient, after;

  explicit Recorded(const std::string& name) {
    fiber::detail::Classic<std::ifstream> file(PPO_UPDATE);
    for (std::string word; file >> word && word != name;)
      ;
    file >> parameters >> losses.policy >> losses.value >> losses.entropy >> losses.kl >>
      losses.clip_fraction >> losses.gradient_norm;
    for (auto* numbers : {&gradient, &after}) {
      std::size_t count = 0;
      file >> count;
      numbers->resize(count);
      for (auto& number : *numbers)
        file >> number;
    }
    if (!file)
      throw std::runtime_error("no case " + name + " in " PPO_UPDATE);
  }
};

void expect_each_near(std::span<const float> all, const std::vector<double>& sampled,
                      const char* what) {
  auto stride = std::max<std::size_t>(1, all.size() / 500);
  for (std::size_t i = 0; i < sampled.size(); ++i)
    EXPECT_NEAR(all[i * stride], sampled[i], 1e-5) << what << ' ' << i * stride;
}

class UpdateTest : public testing::TestWithParam<const char*> {};

TEST_P(UpdateTest, losses_and_gradient_are_those_of_pytorch) {
  Recorded recorded(GetParam());
  auto ours = case_of(GetParam());
  ASSERT_EQ(ours.spec.parameter_count(), recorded.parameters);
  std::vector<float> gradient;
  auto losses = ours.learner.gradient_of(ours.samples(), 0.2, gradient);
  EXPECT_NEAR(losses.policy, recorded.losses.policy, 1e-5);
  EXPECT_NEAR(losses.value, recorded.losses.value, 1e-5);
  EXPECT_NEAR(losses.entropy, recorded.losses.entropy, 1e-5);
  EXPECT_NEAR(losses.kl, recorded.losses.kl, 1e-5);
  EXPECT_NEAR(losses.clip_fraction, recorded.losses.clip_fraction, 1e-9);
  EXPECT_NEAR(losses.gradient_norm, recorded.losses.gradient_norm, 1e-5);
  expect_each_near(gradient, recorded.gradient, "gradient");
}

TEST_P(UpdateTest, parameters_after_three_clipped_steps_of_adam_are_those_of_pytorch) {
  Recorded recorded(GetParam());
  auto ours = case_of(GetParam());
  EXPECT_EQ(ours.learner.update(ours.samples(), 3e-3, 0.2).steps, 3);
  expect_each_near(ours.learner.parameters(), recorded.after, "parameter");
}

TEST_P(UpdateTest, a_policy_infers_what_the_learner_does) {
  auto ours = case_of(GetParam());
  ours.learner.update(ours.samples(), 3e-3, 0.2);
  auto torch = ours.learner.infer(ours.observations);
  fiber::rl::Policy policy(ours.spec, ours.learner.parameters());
  auto eigen = policy.evaluate(ours.observations, {.masks = ours.masks});
  ASSERT_EQ(torch.policy.size(), eigen.policy.size());
  for (std::size_t i = 0; i < torch.policy.size(); ++i)
    if (ours.masks.empty() || ours.masks[i] != 0) {
      EXPECT_NEAR(torch.policy[i], eigen.policy[i], 1e-5);
    }
  for (std::size_t i = 0; i < rows; ++i)
    EXPECT_NEAR(torch.values[i], eigen.values[i], 1e-5);
}

INSTANTIATE_TEST_SUITE_P(vectors, UpdateTest,
                         testing::Values("discrete", "clipped_values", "continuous",
                                         "masked", "multi_discrete",
                                         "masked_multi_discrete"),
                         [](const auto& info) { return std::string(info.param); });
#ifdef FIBER_HAS_TORCH
struct Shape {
  std::string name;
  fiber::rl::PolicySpec spec;
  fiber::rl::PpoOptions options = {};
  std::size_t rows = 32;
};

class TwoGradientsTest : public testing::TestWithParam<Shape> {};

/// With values of the size that early ones have: there rounding is seen.
TEST_P(TwoGradientsTest, the_gradient_by_hand_is_that_of_torch) {
  const auto& [name, spec, options, rows] = GetParam();
  const auto actions = spec.spaces.discrete()
                         ? choices_of(spec.spaces, rows)
                         : wave(rows * spec.spaces.action_size(), 0.7, 1.5);
  const auto masks = masks_for(spec.spaces, actions);
  const auto observations = wave(rows * spec.spaces.observation_size(), 0.2, 1),
             log_probabilities = wave(rows, 0.3, 0.3), values = wave(rows, 0.4, 0.1),
             advantages = wave(rows, 0.5, 2), returns = wave(rows, 0.6, 0.1);
  const fiber::rl::ppo::Samples samples{
    observations, actions, log_probabilities, values, advantages, returns, masks};
  const auto parameters = wave(spec.parameter_count(), 0.1, 0.3);
  const auto eigen = fiber::rl::ppo::gradient_on_eigen(spec, parameters, options),
             torch = fiber_rl_torch_gradients()->of_spec(spec, parameters, options);
  const auto ours = eigen->compute(samples, 0.2), theirs = torch->compute(samples, 0.2);
  EXPECT_NEAR(ours.policy, theirs.policy, 1e-5);
  EXPECT_NEAR(ours.value, theirs.value, 1e-5);
  EXPECT_NEAR(ours.entropy, theirs.entropy, 1e-5);
  EXPECT_EQ(ours.clip_fraction, theirs.clip_fraction);
  ASSERT_EQ(eigen->gradient().size(), torch->gradient().size());
  for (std::size_t i = 0; i < parameters.size(); ++i)
    EXPECT_NEAR(eigen->gradient()[i], torch->gradient()[i], 2e-5) << i;
}

std::vector<Shape> shapes() {
  auto with = [](fiber::rl::PolicySpec spec, auto change) {
    change(spec);
    return spec;
  };
  using fiber::rl::PolicySpec;
  const auto discrete = spec_of({4}, 3, 0), continuous = spec_of({5}, 0, 2);
  const auto relu = [](PolicySpec& s) { s.activation = fiber::rl::Activation::relu; };
  const auto linear = [](PolicySpec& s) { s.hidden = {}; };
  const auto scaled = [](PolicySpec& s) { s.observation_scale = 0.25F; };
  fiber::rl::PpoOptions clipped, curious;
  clipped.clip_values = true;
  curious.entropy_coefficient = 0.1;
  return {{"discrete", discrete, curious},
          {"relu", with(discrete, relu), curious},
          {"linear", with(continuous, linear), curious},
          {"scaled", with(discrete, scaled)},
          {"one_action", spec_of({3}, 1, 0)},
          {"masked", choices_spec({7}, true), curious},
          {"masked_relu", with(choices_spec({7}, true), relu), curious},
          {"multi_discrete", choices_spec({3, 1, 5}, false), curious},
          {"masked_multi_discrete", choices_spec({3, 1, 5}, true), curious, 512},
          {"one_row", continuous, clipped, 1},
          {"clipped_values", continuous, clipped, 512},
          {"clipped_relu", with(continuous, relu), clipped, 512}};
}

INSTANTIATE_TEST_SUITE_P(shapes, TwoGradientsTest, testing::ValuesIn(shapes()),
                         [](const auto& info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(torch, UpdateTest, testing::Values("images"),
                         [](const auto& info) { return std::string(info.param); });
#endif

TEST(LearnerTest, a_learner_goes_on_from_the_state_of_another_bit_by_bit) {
  Case first(spec_of({4}, 3, 0), 0.3, {.minibatch = 16, .epochs = 2});
  first.learner.update(first.samples(), 1e-3, 0.2);
  Case second(spec_of({4}, 3, 0), 0.1, {.minibatch = 16, .epochs = 2});
  second.learner.go_on_from(first.learner.state());
  for (auto* each : {&first, &second})
    EXPECT_EQ(each->learner.update(each->samples(), 1e-3, 0.2).steps, 6);
  EXPECT_TRUE(
    std::ranges::equal(first.learner.parameters(), second.learner.parameters()));
}

TEST(LearnerTest, the_mean_of_two_gradients_is_that_of_all_rows) {
  auto half = rows / 2;
  auto options = [](std::size_t minibatch) {
    return fiber::rl::PpoOptions{
      .minibatch = minibatch, .epochs = 1, .normalise_advantages = false};
  };
  Case whole(spec_of({4}, 3, 0), 0.3, options(rows)),
    first(spec_of({4}, 3, 0), 0.3, options(half)),
    second(spec_of({4}, 3, 0), 0.3, options(half));
  auto part = [&](const Case& of, std::size_t begin) {
    auto all = of.samples();
    auto cut = [&](std::span<const float> numbers) {
      auto width = numbers.size() / rows;
      return numbers.subspan(begin * width, half * width);
    };
    return fiber::rl::ppo::Samples{cut(all.observations),      cut(all.actions),
                                   cut(all.log_probabilities), cut(all.values),
                                   cut(all.advantages),        cut(all.returns)};
  };
  std::vector<float> other;
  second.learner.gradient_of(part(second, half), 0.2, other);
  std::vector<std::size_t> sizes;
  first.learner.set_average([&](std::span<float> numbers) {
    sizes.push_back(numbers.size());
    if (numbers.size() == other.size())
      for (std::size_t i = 0; i < numbers.size(); ++i)
        numbers[i] = (numbers[i] + other[i]) / 2;
  });
  first.learner.update(part(first, 0), 1e-3, 0.2);
  whole.learner.update(whole.samples(), 1e-3, 0.2);
  EXPECT_EQ(sizes, (std::vector<std::size_t>{other.size(), 5})); // And five losses.
  for (std::size_t i = 0; i < other.size(); ++i)
    EXPECT_NEAR(first.learner.parameters()[i], whole.learner.parameters()[i], 1e-5);
}

TEST(LearnerTest, an_epoch_sees_as_many_samples_as_the_learner_with_the_fewest_has) {
  const fiber::rl::PpoOptions options{.minibatch = 16, .epochs = 2};
  Case whole(spec_of({4}, 3, 0), 0.3, options), all(spec_of({4}, 3, 0), 0.3, options),
    fewer(spec_of({4}, 3, 0), 0.3, options);
  EXPECT_EQ(whole.learner.update(whole.samples(), 1e-3, 0.2).steps, 6);
  EXPECT_EQ(all.learner.update(all.samples(), 1e-3, 0.2, rows).steps, 6);
  EXPECT_EQ(fewer.learner.update(fewer.samples(), 1e-3, 0.2, 32).steps, 4);
  EXPECT_TRUE(std::ranges::equal(whole.learner.parameters(), all.learner.parameters()));
}

TEST(LearnerTest, an_update_stops_when_the_policies_of_all_are_too_far_on_average) {
  Case near(spec_of({4}, 3, 0), 0.3, {.minibatch = 16, .epochs = 10, .target_kl = 1e9});
  near.learner.set_average([](std::span<float> numbers) {
    if (numbers.size() == 5)
      numbers[3] = 2e9F; // The others are far.
  });
  EXPECT_EQ(near.learner.update(near.samples(), 1e-3, 0.2).steps, 1);
}

TEST(LearnerTest, an_update_stops_when_the_policy_is_too_far_from_the_old_one) {
  Case far(spec_of({4}, 3, 0), 0.3, {.minibatch = 16, .epochs = 10, .target_kl = 1e-9});
  EXPECT_EQ(far.learner.update(far.samples(), 1e-3, 0.2).steps, 1);
}

TEST(LearnerTest, a_loss_that_is_not_finite_is_an_error_and_leaves_the_parameters) {
  Case bad(spec_of({4}, 3, 0), 0.3, {});
  std::vector<float> before(bad.learner.parameters().begin(),
                            bad.learner.parameters().end());
  bad.returns[7] = std::numeric_limits<float>::quiet_NaN();
  try {
    bad.learner.update(bad.samples(), 1e-3, 0.2);
    FAIL() << "no error";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "update 0, step 0 of Adam: the value loss is nan");
  }
  EXPECT_TRUE(std::ranges::equal(bad.learner.parameters(), before));
}

TEST(LearnerTest, wrong_sizes_are_errors_that_name_them) {
  Case small(spec_of({4}, 3, 0), 0.3, {});
  small.actions.pop_back();
  EXPECT_THROW(small.learner.update(small.samples(), 1e-3, 0.2), std::invalid_argument);
  Case other(spec_of({5}, 0, 2), 0.3, {});
  EXPECT_THROW(other.learner.go_on_from(small.learner.state()), std::invalid_argument);
  EXPECT_THROW(fiber::rl::ppo::Learner(small.spec, wave(7, 0, 1), {}, 1),
               std::invalid_argument);
}

} // namespace
