// SPDX-License-Identifier: Apache-2.0
// Breakout keeps the rules that its header states, and its seed and actions decide every
// frame.

#include "fiber/rl/breakout.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace fiber::rl {
namespace {

static_assert(Environment<Breakout>);

constexpr int nothing = 0, fire = 1, right = 2, left = 3;

std::vector<float> seen_by(const Breakout& breakout) {
  std::vector<float> seen(spaces_of(breakout).observation_size());
  breakout.observe(seen);
  return seen;
}

// Keeps the paddle under the ball, a little to one side or the other in turn, so that the
// ball does not go round in a circle.
class Tracker {
public:
  int action(const Breakout::State& state) {
    if (!state.ball_in_play)
      return fire;
    const double aside = (state.paddle_hits * 7 % 11 - 5) / 5.0 * 2;
    const double error =
      state.ball_x + 1 + aside - (state.paddle_x + state.paddle_width / 2);
    if (std::abs(error) < Breakout::paddle_speed / 2)
      return nothing;
    return error > 0 ? right : left;
  }
};

int points_of(const std::bitset<108>& bricks) {
  int sum = 0;
  for (std::size_t i = 0; i < bricks.size(); ++i)
    if (bricks[i])
      sum += Breakout::points[i / Breakout::columns];
  return sum;
}

TEST(BreakoutTest, a_paddle_that_follows_the_ball_clears_both_walls) {
  Breakout breakout({.frame_skip = 1, .step_limit = 1'000'000});
  breakout.reset(1);
  Tracker tracker;
  double sum = 0;
  Step step;
  while (!step.terminated && !step.truncated) {
    step = breakout.step(tracker.action(breakout.state()));
    sum += step.reward;
  }
  EXPECT_TRUE(step.terminated);
  EXPECT_EQ(sum, 864);
  EXPECT_EQ(breakout.state().lives, 5);
  EXPECT_EQ(breakout.state().walls, 2);
  EXPECT_TRUE(breakout.state().bricks.none());
}

TEST(BreakoutTest, bricks_pay_their_points_once_and_the_ball_stays_in_the_court) {
  Breakout breakout({.frame_skip = 1, .step_limit = 20'000});
  breakout.reset(2);
  Tracker tracker;
  auto before = breakout.state();
  for (bool ended = false; !ended;) {
    const auto step = breakout.step(tracker.action(before));
    const auto& after = breakout.state();
    ended = step.terminated || step.truncated;
    if (after.walls == before.walls) {
      ASSERT_EQ(after.bricks & before.bricks, after.bricks) << "a brick came back";
      ASSERT_EQ(step.reward, points_of(before.bricks) - points_of(after.bricks));
      ASSERT_LE(before.bricks.count() - after.bricks.count(), 2u);
    }
    ASSERT_GE(after.ball_x, Breakout::court_left);
    ASSERT_LE(after.ball_x + 2, Breakout::court_right);
    ASSERT_GE(after.ball_y, Breakout::court_top);
    ASSERT_LE(after.ball_y + 2, 84);
    ASSERT_GE(after.paddle_x, Breakout::court_left);
    ASSERT_LE(after.paddle_x + after.paddle_width, Breakout::court_right);
    ASSERT_GE(std::abs(after.slope), 0.2);
    ASSERT_LE(std::abs(after.slope), 1);
    before = after;
  }
  EXPECT_GT(before.score, 432);
}

TEST(BreakoutTest, the_ball_is_faster_and_the_paddle_narrower_until_the_ball_is_lost) {
  Breakout breakout({.frame_skip = 1});
  breakout.reset(3);
  Tracker tracker;
  const auto& state = breakout.state();
  std::vector<double> speeds;
  const auto whole = std::bitset<108>().set() >> 4 * Breakout::columns; // The upper rows.
  breakout.step(fire);
  for (int i = 0; i < 20'000 && state.paddle_width == 10; ++i) {
    if (speeds.empty() || speeds.back() != state.speed)
      speeds.push_back(state.speed);
    const bool touched = (state.bricks & whole) != whole;
    EXPECT_EQ(state.speed, touched                  ? 1.4
                           : state.paddle_hits < 4  ? 0.8
                           : state.paddle_hits < 12 ? 1.0
                                                    : 1.2);
    breakout.step(tracker.action(state));
  }
  EXPECT_EQ(speeds, (std::vector{0.8, 1.0, 1.2, 1.4}));
  EXPECT_LT(state.ball_y, Breakout::court_top + state.speed) << "not at the ceiling";
  EXPECT_EQ(state.direction, 1);
  EXPECT_EQ(state.paddle_width, 5);

  while (state.ball_in_play)
    breakout.step(state.ball_x > 40 ? left : right);
  EXPECT_EQ(state.lives, 4);
  EXPECT_EQ(state.paddle_width, 10);
  breakout.step(fire);
  EXPECT_EQ(state.speed, 0.8);
}

TEST(BreakoutTest, five_lost_balls_end_the_game) {
  Breakout breakout;
  breakout.reset(4);
  std::vector<int> lives;
  Step step;
  while (!step.terminated) {
    ASSERT_FALSE(step.truncated);
    const auto& state = breakout.state();
    step = breakout.step(!state.ball_in_play ? fire : state.ball_x > 40 ? left : right);
    if (lives.empty() || lives.back() != breakout.state().lives)
      lives.push_back(breakout.state().lives);
  }
  EXPECT_EQ(lives, (std::vector{5, 4, 3, 2, 1, 0}));
  EXPECT_TRUE(breakout.step(nothing).terminated);
}

TEST(BreakoutTest, nothing_moves_before_fire_unless_the_options_say_so) {
  Breakout waiting, served({.fire_on_reset = true});
  waiting.reset(5);
  served.reset(5);
  for (int i = 0; i < 20; ++i)
    waiting.step(nothing);
  EXPECT_FALSE(waiting.state().ball_in_play);
  EXPECT_TRUE(served.state().ball_in_play);
  int lives = 5;
  while (lives > 0) {
    EXPECT_TRUE(served.state().ball_in_play);
    served.step(nothing);
    lives = served.state().lives;
  }
}

TEST(BreakoutTest, a_lost_life_ends_an_episode_of_one_life) {
  Breakout breakout({.episodic_life = true, .fire_on_reset = true});
  for (int episode = 0; episode < 2; ++episode) {
    breakout.reset(6);
    EXPECT_EQ(breakout.state().lives, 5);
    while (!breakout.step(left).terminated)
      EXPECT_EQ(breakout.state().lives, 5);
    EXPECT_EQ(breakout.state().lives, 4);
  }
}

TEST(BreakoutTest, truncates_at_the_limit) {
  Breakout breakout({.step_limit = 7});
  for (int episode = 0; episode < 2; ++episode) {
    breakout.reset(7);
    for (int i = 1; i <= 7; ++i)
      EXPECT_EQ(breakout.step(nothing).truncated, i == 7) << "step " << i;
  }
}

TEST(BreakoutTest, sticky_actions_repeat_at_the_stated_rate) {
  constexpr int steps = 20'000;
  Breakout breakout({.frame_skip = 1, .sticky_actions = 0.25, .step_limit = steps + 1});
  breakout.reset(8);
  // A frame tells whether it repeats the one before when it was told something else, and
  // the paddle is not at a wall.
  int chances = 0, repeats = 0, previous = nothing;
  for (int i = 0; i < steps; ++i) {
    const int told = i % 2 == 0 ? right : left;
    const double x = breakout.state().paddle_x;
    breakout.step(told);
    const double moved = breakout.state().paddle_x - x;
    const int done = moved > 0 ? right : moved < 0 ? left : previous;
    if (previous != told && x > 9 && x < 65) {
      ++chances;
      repeats += done == previous;
    }
    previous = done;
  }
  EXPECT_GT(chances, steps / 3);
  EXPECT_NEAR(static_cast<double>(repeats) / chances, 0.25, 0.02);
}

TEST(BreakoutTest, the_seed_and_the_actions_decide_every_frame) {
  const BreakoutOptions options = {.sticky_actions = 0.25};
  Breakout one(options), same(options), other(options);
  Random actions(9);
  one.reset(9);
  same.step(nothing); // What was before reset() leaves no trace.
  same.reset(9);
  other.reset(10);
  bool differs = false;
  for (int i = 0; i < 400; ++i) {
    const auto action = static_cast<int>(actions.below(4));
    EXPECT_EQ(one.step(action).reward, same.step(action).reward);
    ASSERT_EQ(seen_by(one), seen_by(same)) << "step " << i;
    other.step(action);
    differs = differs || seen_by(one) != seen_by(other);
  }
  EXPECT_TRUE(differs);
}

TEST(BreakoutTest, an_observation_is_the_last_four_images_the_newest_last) {
  Breakout breakout({.fire_on_reset = true});
  breakout.reset(11);
  constexpr std::size_t image = Breakout::size * Breakout::size;
  std::vector<std::vector<float>> newest;
  const auto remember = [&] {
    const auto seen = seen_by(breakout);
    newest.emplace_back(seen.end() - image, seen.end());
    return seen;
  };
  const auto first = remember();
  for (std::size_t age = 0; age < 4; ++age)
    EXPECT_TRUE(std::equal(newest[0].begin(), newest[0].end(),
                           first.begin() + static_cast<std::ptrdiff_t>(age * image)));
  std::vector<float> seen;
  for (int i = 0; i < 5; ++i) {
    breakout.step(right);
    seen = remember();
  }
  for (std::size_t i = 0; i < 4; ++i)
    EXPECT_TRUE(std::equal(newest[2 + i].begin(), newest[2 + i].end(),
                           seen.begin() + static_cast<std::ptrdiff_t>(i * image)));
  EXPECT_NE(newest[5], newest[4]);
  EXPECT_TRUE(std::ranges::all_of(seen, [](float v) { return v >= 0 && v <= 1; }));
}

TEST(BreakoutTest, the_image_shows_ball_paddle_bricks_and_lives) {
  Breakout breakout({.fire_on_reset = true});
  breakout.reset(12);
  const auto seen = seen_by(breakout);
  const auto pixel = [&](double x, double y) {
    return seen[static_cast<std::size_t>(y) * 84 + static_cast<std::size_t>(x)];
  };
  const auto& state = breakout.state();
  EXPECT_EQ(pixel(state.ball_x + 1, state.ball_y + 1), 1);
  EXPECT_GT(pixel(state.paddle_x + 5, 77), 0.7);
  EXPECT_EQ(pixel(state.paddle_x - 2, 77), 0);
  for (int row = 0; row < 6; ++row)
    EXPECT_GT(pixel(40, 23 + 2 * row), row == 0 ? 0 : pixel(40, 21 + 2 * row));
  EXPECT_EQ(pixel(40, 35), 0);
  EXPECT_GT(pixel(6 + 4 * 5 + 1, 3), 0);
  EXPECT_EQ(pixel(6 + 5 * 5 + 1, 3), 0);
}

TEST(BreakoutTest, options_out_of_range_are_named) {
  const auto error_of = [](const BreakoutOptions& options) -> std::string {
    try {
      Breakout breakout(options);
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_EQ(error_of({.frame_skip = 0}),
            "Breakout: frame_skip is 0; it must be at least 1");
  EXPECT_EQ(error_of({.sticky_actions = 1.5}),
            "Breakout: sticky_actions is 1.5; it is a probability, from 0 to 1");
  EXPECT_EQ(error_of({.step_limit = 0}),
            "Breakout: step_limit is 0; it must be at least 1");
  Breakout breakout;
  breakout.reset(1);
  EXPECT_THROW(breakout.step(4), std::invalid_argument);
}

} // namespace
} // namespace fiber::rl
