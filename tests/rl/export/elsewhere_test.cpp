// SPDX-License-Identifier: Apache-2.0
// Exported policies in ONNX Runtime and PyTorch, of the virtual environment
// FIBER_RL_VENV: they give what the policy gives, in each environment.

#include <algorithm>
#include <cmath>
#include <iostream>

#include "fiber/rl/environments.hpp"
#include "fiber/rl/export_policy.hpp"
#include "fiber/rl/random.hpp"
#include "tests/rl/export/policies.hpp"

namespace fiber::rl::exporting_test {
namespace {

constexpr std::size_t rows_of_each = 10'000;

/// Plays with random actions.
class RandomPlay {
public:
  explicit RandomPlay(const std::string& name)
    : environment_(make_environment(name)), spaces_(environment_->spaces()) {
    environment_->reset(random_.next());
  }

  std::vector<float> next(std::size_t rows) {
    const auto size = spaces_.observation_size();
    std::vector<float> observations(rows * size);
    std::vector<float> action(spaces_.action_size());
    for (std::size_t row = 0; row < rows; ++row) {
      environment_->observe(std::span(observations).subspan(row * size, size));
      if (spaces_.discrete())
        choose(action);
      for (std::size_t i = 0; i < spaces_.action_low.size(); ++i)
        action[i] = static_cast<float>(
          random_.uniform(spaces_.action_low[i], spaces_.action_high[i]));
      const auto step = environment_->step(action);
      if (step.terminated || step.truncated)
        environment_->reset(random_.next());
    }
    return observations;
  }

  const Spaces& spaces() const { return spaces_; }

private:
  void choose(std::vector<float>& action) {
    const std::vector<float> equal(spaces_.logits());
    std::vector<std::uint8_t> mask(spaces_.mask_size());
    environment_->mask(mask);
    Policy policy({.spaces = {.observation_shape = {1},
                              .actions = spaces_.actions,
                              .action_counts = spaces_.action_counts,
                              .masked = spaces_.masked},
                   .hidden = {}},
                  std::vector<float>(2 * equal.size() + 2));
    const float none = 0;
    std::ranges::copy(
      policy.sample({&none, 1}, {.seed = random_.next()}, {.masks = mask}).actions,
      action.begin());
  }

  Random random_{1};
  std::unique_ptr<AnyEnvironment> environment_;
  const Spaces spaces_;
};

/// The largest differences so far.
struct Differences {
  double onnx = 0, onnx_actions = 0, torch = 0, torch_values = 0;
};

class ElsewhereTest : public ExportTest {
protected:
  void compare(const SavedPolicy& policy, const std::vector<float>& rows,
               std::span<const std::uint8_t> masks, Differences& found) {
    save_onnx(folder / "policy.onnx", policy);
    save_safetensors(folder / "policy.safetensors", policy);
    write_numbers(folder / "rows", rows);
    write_masks(folder / "mask", masks);
    ASSERT_NO_FATAL_FAILURE(
      run(TEST_PYTHON " " TEST_FOLDER "/run_elsewhere.py " + folder.string()));
    const auto expected = answers_of(policy, rows, masks);
    const auto* outputs = policy.spec.spaces.discrete() ? "logits" : "mean";
    const auto raise = [](double& largest, double difference) {
      largest = std::max(largest, difference);
    };
    raise(found.onnx,
          largest_difference(expected.outputs, numbers_of_file(folder / outputs)));
    raise(found.onnx_actions,
          largest_difference_of_actions(policy, expected,
                                        numbers_of_file(folder / "action"), 1e-5));
    raise(found.torch, largest_difference(expected.outputs,
                                          numbers_of_file(folder / "torch.outputs")));
    auto normalised = rows;
    policy.observations.apply(normalised);
    Policy runner(policy.spec, policy.parameters);
    raise(found.torch_values,
          largest_difference(runner.evaluate_values(normalised),
                             numbers_of_file(folder / "torch.value")));
  }

  static void expect_small(const std::string& name, const Differences& found) {
    std::cout << name << ": ONNX Runtime " << found.onnx << ", its actions "
              << found.onnx_actions << ", PyTorch " << found.torch << ", its values "
              << found.torch_values << std::endl;
    EXPECT_LE(found.onnx, 1e-5) << name;
    EXPECT_LE(found.onnx_actions, 1e-5) << name;
    EXPECT_LE(found.torch, 1e-5) << name;
    EXPECT_LE(found.torch_values, 1e-5) << name;
  }

  /// 10,000 rows, in parts of a moderate size.
  void play(const std::string& name, PolicySpec spec) {
    RandomPlay play(name);
    spec.spaces = play.spaces();
    SavedPolicy policy{.environment = name, .spec = std::move(spec)};
    fill_parameters(policy, 5);
    RunningMoments moments(play.spaces().observation_size());
    moments.add(std::span<const float>(play.next(500)));
    policy.observations = FrozenNormaliser(moments, 10, 1e-8);
    const auto part =
      std::min(rows_of_each, 32'000'000 / play.spaces().observation_size() / 4);
    Differences found;
    for (std::size_t rows = 0; rows < rows_of_each; rows += part) {
      const auto count = std::min(part, rows_of_each - rows);
      ASSERT_NO_FATAL_FAILURE(
        compare(policy, play.next(count), random_masks(play.spaces(), count), found));
    }
    expect_small(name + ", " + policy.spec.describe(), found);
  }
};

TEST_F(ElsewhereTest, all_samples_agree) {
  for (const auto& [name, policy, rows, masks] : samples()) {
    Differences found;
    ASSERT_NO_FATAL_FAILURE(compare(policy, rows, masks, found));
    expect_small(name, found);
  }
}

TEST_F(ElsewhereTest, a_policy_for_each_environment_agrees_in_ten_thousand_rows) {
  for (const auto& name : environment_names())
    ASSERT_NO_FATAL_FAILURE(play(name, {}));
}

TEST_F(ElsewhereTest, a_policy_with_convolutions_agrees_in_ten_thousand_rows) {
  auto spec = default_policy(make_environment("breakout")->spaces());
  spec.observation_scale = 0.5F;
  ASSERT_NO_FATAL_FAILURE(play("breakout", spec));
}

} // namespace
} // namespace fiber::rl::exporting_test
