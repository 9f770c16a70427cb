// SPDX-License-Identifier: Apache-2.0
// The promise: a row's mask belongs to its observation, wherever its environment lives
// and whatever happened to it. An action that a mask forbids is refused before any
// environment has stepped, and a mask that forbids all is an error of the environment.

#include <algorithm>
#include <array>
#include <functional>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include "fiber/rl/knights_tour.hpp"
#include "tests/e2e/support/fixture.hpp"
#include "tests/rl/vec/puppet.hpp"

namespace fiber::rl::tests {
namespace {

class VecEnvMasks : public e2e::SessionTest {};

using Floats = std::vector<float>;
using Bytes = std::vector<std::uint8_t>;

/// Two wheels. The first has what the Puppet does; what the second may have follows from
/// the steps: only the choice steps % 3.
class Wheels {
public:
  using Action = std::array<int, 2>;
  enum : int { go_on, terminate, truncate, jam, die };
  static constexpr Action actions{5, 3};
  static constexpr std::size_t observation_size = 2;

  void reset(std::uint64_t seed) {
    first_ = static_cast<int>(seed % 100);
    steps_ = 0;
    jammed_ = false;
  }
  Step step(Action action) {
    if (action[1] != (first_ + steps_) % 3)
      throw std::runtime_error("an action that the mask forbids");
    ++steps_;
    jammed_ = action[0] == jam || action[0] == terminate;
    if (action[0] == die)
      ::kill(::getpid(), SIGKILL);
    return {.terminated = action[0] == terminate, .truncated = action[0] == truncate};
  }
  void observe(std::span<float> out) const {
    out[0] = static_cast<float>(first_ + steps_);
    out[1] = static_cast<float>(steps_);
  }
  void mask(std::span<std::uint8_t> out) const {
    std::ranges::fill(out, std::uint8_t{1});
    for (int i = 0; i < 3; ++i)
      out[static_cast<std::size_t>(5 + i)] = !jammed_ && i == (first_ + steps_) % 3;
  }

private:
  int first_ = 0, steps_ = 0;
  bool jammed_ = false; ///< At the end of an episode, too.
};

/// The mask that a row with this observation must have.
Bytes expected_mask(std::span<const float> observation) {
  Bytes mask(8, 1);
  for (int i = 0; i < 3; ++i)
    mask[static_cast<std::size_t>(5 + i)] = i == static_cast<int>(observation[0]) % 3;
  return mask;
}

Bytes mask_of(const Batch& batch, std::size_t row) {
  const auto mask = batch.mask(row);
  return {mask.begin(), mask.end()};
}

/// The possible action of each row with this choice in the first component.
Floats actions_of(const Batch& batch, int first, const std::vector<int>& others = {}) {
  Floats actions;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const auto mask = batch.mask(i).subspan(5);
    actions.push_back(static_cast<float>(i < others.size() ? others[i] : first));
    actions.push_back(
      static_cast<float>(std::ranges::find(mask, std::uint8_t{1}) - mask.begin()));
  }
  return actions;
}

void expect_masks_fit(const Batch& batch) {
  ASSERT_EQ(batch.masks.size(), 8 * batch.size());
  for (std::size_t i = 0; i < batch.size(); ++i)
    EXPECT_EQ(mask_of(batch, i), expected_mask(batch.observation(i))) << i;
}

TEST_F(VecEnvMasks, belong_to_the_observation_of_their_row) {
  open();
  for (const auto way : all_ways) {
    auto envs = vec_env<Wheels>({.envs = 4, .jobs = 2, .seed = 5}, way);
    EXPECT_EQ(envs.spaces().mask_size(), 8u);
    const auto* batch = &envs.reset();
    expect_masks_fit(*batch);
    for (int step = 0; step < 6; ++step) { // With the ends of episodes.
      batch = &envs.step(actions_of(*batch, 0, {0, step % 3, 0, (step + 1) % 3}));
      expect_masks_fit(*batch);
    }
    expect_masks_fit(envs.reset(std::vector{2, 0}));
  }
}

TEST_F(VecEnvMasks, come_with_the_rows_that_are_received) {
  open();
  for (const auto way : all_ways) {
    auto envs = vec_env<Wheels>({.envs = 4, .batch = 2, .jobs = 2, .seed = 5}, way);
    const auto actions = actions_of(envs.reset(), 0);
    envs.send(actions, std::vector{0, 1, 2, 3});
    for (int part = 0; part < 2; ++part) {
      const auto& batch = envs.recv();
      ASSERT_EQ(batch.size(), 2u);
      expect_masks_fit(batch);
    }
  }
}

TEST_F(VecEnvMasks, allow_all_where_the_action_is_ignored) {
  open();
  for (const auto way : all_ways) {
    auto envs = vec_env<Wheels>(
      {.envs = 2, .jobs = 1, .autoreset = Autoreset::next_step, .seed = 5}, way);
    const auto* batch = &envs.reset();
    batch = &envs.step(actions_of(*batch, 0, {Wheels::terminate}));
    EXPECT_TRUE(batch->done(0));
    EXPECT_EQ(mask_of(*batch, 0), Bytes(8, 1));
    batch = &envs.step(actions_of(*batch, 0));
    EXPECT_EQ(batch->episode_length(0), 0);
    expect_masks_fit(*batch);
  }
}

TEST_F(VecEnvMasks, survive_the_loss_of_a_job_and_a_restore) {
  open();
  for (const auto way : job_ways) {
    VecEnvOptions options{.envs = 4, .jobs = 2, .seed = 5};
    auto envs = vec_env<Wheels>(options, way);
    const auto* batch = &envs.reset();
    batch = &envs.step(actions_of(*batch, 0, {0, 0, Wheels::die}));
    EXPECT_EQ(batch->valid[2], 0);
    expect_masks_fit(*batch);
    batch = &envs.step(actions_of(*batch, 0));
    const auto state = envs.state();
    const Bytes before(batch->masks.begin(), batch->masks.end());
    auto second = vec_env<Wheels>(options, Way::here);
    const auto& restored = second.restore(state);
    EXPECT_EQ(Bytes(restored.masks.begin(), restored.masks.end()), before);
    expect_masks_fit(envs.restore(state));
  }
}

std::string refusal_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "no error";
}

TEST_F(VecEnvMasks, refuse_an_action_before_any_environment_has_stepped) {
  open();
  for (const auto way : all_ways) {
    auto envs = vec_env<Wheels>({.envs = 3, .jobs = 1, .seed = 5}, way);
    auto actions = actions_of(envs.reset(), 0);
    auto forbidden = actions;
    forbidden[5] = static_cast<float>((static_cast<int>(actions[5]) + 1) % 3);
    EXPECT_EQ(refusal_of([&] { envs.step(forbidden); }),
              "the action of environment 2, component 1, is " +
                std::to_string(static_cast<int>(forbidden[5])) +
                ", which its mask forbids: Batch::masks says what is possible");
    EXPECT_NE(refusal_of([&] {
                envs.send(std::span(forbidden).subspan(4), std::vector{2});
              }).find("the action of environment 2"),
              std::string::npos);
    forbidden[5] = 3;
    EXPECT_EQ(refusal_of([&] { envs.step(forbidden); }),
              "the action of environment 2, component 1, is 3; there are 0 to 2");
    EXPECT_EQ(envs.step(actions).episode_length(0), 1);
  }
}

TEST_F(VecEnvMasks, that_forbid_all_are_errors_of_the_environment) {
  open();
  for (const auto way : all_ways)
    for (const auto on_error : {OnError::stop, OnError::new_episode}) {
      auto envs =
        vec_env<Wheels>({.envs = 3, .jobs = 1, .seed = 5, .on_error = on_error}, way);
      const std::string text =
        "environment 1 failed: mask() forbids each of the 3 choices of component 1 of "
        "the action, although the episode has not ended";
      const auto actions = actions_of(envs.reset(), 0, {0, Wheels::jam});
      try {
        const auto& batch = envs.step(actions);
        EXPECT_EQ(on_error, OnError::new_episode);
        EXPECT_EQ(batch.valid[1], 0);
        EXPECT_EQ(batch.valid[0], 1);
        expect_masks_fit(batch);
      } catch (const std::runtime_error& error) {
        EXPECT_EQ(on_error, OnError::stop);
        EXPECT_EQ(error.what(), text);
      }
      EXPECT_EQ(envs.errors(), 1u);
      EXPECT_EQ(envs.first_error(), text);
    }
}

TEST_F(VecEnvMasks, guide_typed_environments) {
  VecEnv<KnightsTour> tours({.envs = 3, .seed = 2});
  const auto* batch = &tours.reset();
  std::size_t ended = 0;
  for (int step = 0; step < 300; ++step) {
    std::vector<int> actions;
    for (std::size_t i = 0; i < 3; ++i) {
      const auto mask = batch->mask(i);
      actions.push_back(
        static_cast<int>(std::ranges::find(mask, std::uint8_t{1}) - mask.begin()));
    }
    batch = &tours.step(actions);
    ended += batch->done(0);
  }
  EXPECT_GT(ended, 3u);
  VecEnv<Wheels> wheels({.envs = 2, .seed = 5});
  const auto chosen = actions_of(wheels.reset(), 0);
  const std::vector<std::array<int, 2>> actions = {
    {static_cast<int>(chosen[0]), static_cast<int>(chosen[1])},
    {static_cast<int>(chosen[2]), static_cast<int>(chosen[3])}};
  EXPECT_EQ(wheels.step(actions).episode_length(1), 1);
}

} // namespace
} // namespace fiber::rl::tests
