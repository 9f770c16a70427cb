// SPDX-License-Identifier: Apache-2.0
// LunarLander is Gymnasium's: from a recorded start, with the recorded noise of the
// engines, an episode agrees step by step until it has landed; from other starts, returns
// and lengths have the same distribution. record_box2d.py made
// the recordings.

#include "fiber/rl/lunar_lander.hpp"

#include <cmath>
#include <optional>
#include <stdexcept>
#include <tuple>
#include <utility>

#include <gtest/gtest.h>

#include "rl/env/lunar_lander_world.hpp"
#include "tests/rl/env/recording.hpp"

namespace fiber::rl {
namespace {

static_assert(Environment<LunarLander>);

constexpr std::size_t episodes = 1000;

struct LunarLinear {
  template <class Seen>
  int operator()(const Seen& seen) const {
    int best = 0;
    for (int row = 1; row < LunarLander::actions; ++row)
      if (recording::linear(0.5, row, seen) > recording::linear(0.5, best, seen))
        best = row;
    return best;
  }
};

/// Gymnasium's: leans against the way it has to go, hovers above a cone.
struct LunarHeuristic {
  template <class Seen>
  int operator()(const Seen& seen) const {
    const auto [x, y, speed_x, speed_y, angle, spin, left, right] = seen;
    const bool on_ground = left > 0 || right > 0;
    const double lean = std::clamp(0.5 * x + speed_x, -0.4, 0.4);
    const double turn = on_ground ? 0 : (lean - angle) * 0.5 - spin;
    const double lift =
      on_ground ? -0.5 * speed_y : (0.55 * std::abs(x) - y) * 0.5 - 0.5 * speed_y;
    if (lift > std::abs(turn) && lift > 0.05)
      return 2;
    return turn < -0.05 ? 3 : turn > 0.05 ? 1 : 0;
  }
};

TEST(LunarLanderTest, follows_gymnasium_from_the_start_until_it_has_landed) {
  lander::Start start;
  std::vector<double> noise, actions;
  std::optional<lander::World> world;
  std::size_t step = 0, landed = 0;
  Step result;
  for (const auto& [key, at, values] : recording::start("lunar_lander")) {
    if (key == "heights")
      std::ranges::copy(values, start.heights.begin());
    if (key == "force")
      std::tie(start.force_x, start.force_y) = std::pair(values[0], values[1]);
    if (key == "noise")
      noise = values;
    if (key == "actions")
      actions = values;
    if (key == "reward") {
      EXPECT_NEAR(result.reward, values[0], 0.02) << "step " << step;
    }
    if (key != "seen")
      continue;
    if (at == 0) {
      world.emplace(start);
      step = 0;
    }
    for (; step < static_cast<std::size_t>(at); ++step)
      result = world->step(static_cast<int>(actions[step]),
                           {noise[2 * step], noise[2 * step + 1]});
    std::array<float, LunarLander::observation_size> seen = {};
    world->observe(seen);
    for (std::size_t i = 0; i < seen.size(); ++i)
      EXPECT_NEAR(seen[i], values[i], at < 50 ? 1e-5 : 1e-3)
        << "component " << i << " after " << at << " steps";
    if (at > 0 && step == actions.size()) {
      EXPECT_TRUE(result.terminated);
      ++landed;
    }
  }
  EXPECT_EQ(landed, 2U);
}

TEST(LunarLanderTest, a_linear_policy_gets_gymnasiums_returns_and_lengths) {
  const auto ours = recording::play<LunarLinear>(LunarLander(), episodes);
  const auto golden = recording::episodes("lunar_lander_linear");
  ASSERT_EQ(golden.returns.size(), 1000U);
  EXPECT_LT(recording::difference(ours.returns, golden.returns), 1);
  EXPECT_LT(recording::difference(ours.lengths, golden.lengths), 1);
}

TEST(LunarLanderTest, gymnasiums_controller_lands_as_often_as_in_gymnasium) {
  const auto ours = recording::play<LunarHeuristic>(LunarLander(), episodes);
  const auto golden = recording::episodes("lunar_lander_heuristic");
  ASSERT_EQ(golden.returns.size(), 1000U);
  EXPECT_GT(recording::mean(ours.returns), 200);
  // Four standard errors of the difference of two means.
  EXPECT_NEAR(recording::mean(ours.returns), recording::mean(golden.returns),
              4 * recording::deviation(golden.returns) * std::sqrt(2.0 / episodes));
  EXPECT_LT(recording::difference(ours.returns, golden.returns), 1);
  EXPECT_LT(recording::difference(ours.lengths, golden.lengths), 1);
}

TEST(LunarLanderTest, the_same_seed_and_actions_are_the_same_episode) {
  LunarLander one, other;
  one.reset(3);
  other.reset(4);
  other.step(2);
  other.reset(3);
  LunarLander moved = std::move(other);
  std::array<float, LunarLander::observation_size> seen = {}, same = {};
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(one.step(i % 4).reward, moved.step(i % 4).reward);
    one.observe(seen);
    moved.observe(same);
    EXPECT_EQ(seen, same);
  }
  moved.reset(4);
  moved.observe(same);
  one.reset(3);
  one.observe(seen);
  EXPECT_NE(seen, same);
}

TEST(LunarLanderTest, is_truncated_after_a_thousand_steps) {
  LunarLander lander;
  lander.reset(0);
  int steps = 1;
  while (!lander.step(0).truncated)
    ++steps;
  EXPECT_EQ(steps, LunarLander::step_limit);
}

TEST(LunarLanderTest, refuses_an_action_that_there_is_not_and_a_step_before_the_start) {
  LunarLander lander;
  EXPECT_THROW(lander.step(0), std::logic_error);
  std::array<float, LunarLander::observation_size> seen = {};
  EXPECT_THROW(lander.observe(seen), std::logic_error);
  lander.reset(0);
  EXPECT_THROW(lander.step(4), std::invalid_argument);
  EXPECT_THROW(lander.step(-1), std::invalid_argument);
}

} // namespace
} // namespace fiber::rl
