// SPDX-License-Identifier: Apache-2.0
// BipedalWalker is Gymnasium's: on a recorded terrain, the first steps agree; on others,
// returns and lengths have the same distribution. Terrains are those of the options.
// record_box2d.py made the recordings, of 1,000 episodes each.

#include "fiber/rl/bipedal_walker.hpp"

#include <cmath>
#include <limits>
#include <optional>
#include <stdexcept>
#include <utility>

#include <gtest/gtest.h>

#include "rl/env/bipedal_walker_world.hpp"
#include "tests/rl/env/recording.hpp"

namespace fiber::rl {
namespace {

static_assert(Environment<BipedalWalker>);
static_assert(Environment<BipedalWalkerHardcore>);

// Fewer than were recorded, because a thousand take 6 seconds.
constexpr std::size_t linear_episodes = 250, heuristic_episodes = 60;

struct Linear {
  template <class Seen>
  BipedalWalker::Action operator()(const Seen& seen) const {
    BipedalWalker::Action action;
    for (int row = 0; row < 4; ++row)
      action[static_cast<std::size_t>(row)] =
        static_cast<float>(std::clamp(recording::linear(4.5, row, seen), -1.0, 1.0));
    return action;
  }
};

/// Gymnasium's: stands on one leg and swings the other to the front, puts it down, pushes
/// off with the one behind. Proportional-differential control moves the joints.
class Heuristic {
public:
  template <class Seen>
  BipedalWalker::Action operator()(const Seen& seen) {
    aim(seen);
    BipedalWalker::Action action;
    for (std::size_t leg = 0; leg < 2; ++leg) {
      const auto at = 4 + 5 * leg;
      double hip = 0, knee = 0;
      if (hip_aim_[leg])
        hip = 0.9 * (*hip_aim_[leg] - seen[at]) - 0.25 * seen[at + 1];
      if (knee_aim_[leg])
        knee = 4.0 * (*knee_aim_[leg] - seen[at + 2]) - 0.25 * seen[at + 3];
      hip += 0.9 * seen[0] + 1.5 * seen[1]; // Keeps the hull level.
      knee -= 15.0 * seen[3];               // Damps bouncing.
      action[2 * leg] = static_cast<float>(std::clamp(0.5 * hip, -1.0, 1.0));
      action[2 * leg + 1] = static_cast<float>(std::clamp(0.5 * knee, -1.0, 1.0));
    }
    return action;
  }

private:
  enum class Phase { swing, put_down, push_off };

  template <class Seen>
  void aim(const Seen& seen) {
    const std::size_t standing = 1 - swinging_;
    const auto at = 4 + 5 * swinging_, at_standing = 4 + 5 * standing;
    hip_aim_ = knee_aim_ = {};
    if (phase_ == Phase::swing) {
      hip_aim_[swinging_] = 1.1;
      knee_aim_[swinging_] = -0.6;
      bend_ = std::min(bend_ + (seen[2] > speed ? 0.06 : 0.03), straight);
      knee_aim_[standing] = bend_;
      if (seen[at_standing] < 0.10)
        phase_ = Phase::put_down;
    }
    if (phase_ == Phase::put_down) {
      hip_aim_[swinging_] = 0.1;
      knee_aim_[swinging_] = straight;
      knee_aim_[standing] = bend_;
      if (seen[at + 4] > 0) {
        phase_ = Phase::push_off;
        bend_ = std::min<double>(seen[at + 2], straight);
      }
    }
    if (phase_ == Phase::push_off) {
      knee_aim_[swinging_] = bend_;
      knee_aim_[standing] = 1.0;
      if (seen[at_standing + 2] > 0.88 || seen[2] > 1.2 * speed) {
        phase_ = Phase::swing;
        swinging_ = standing;
      }
    }
  }

  static constexpr double speed = 0.29, straight = 0.1;
  Phase phase_ = Phase::swing;
  std::size_t swinging_ = 0;
  double bend_ = straight; ///< Of the knee of the leg that carries.
  std::array<std::optional<double>, 2> hip_aim_, knee_aim_;
};

BipedalWalker::Action recorded_action(int step) {
  BipedalWalker::Action action;
  for (int joint = 0; joint < 4; ++joint)
    action[static_cast<std::size_t>(joint)] =
      static_cast<float>((step / 4 * 7 + joint * 5) % 9) / 4 - 1;
  return action;
}

void expect_recorded_steps(const std::string& name) {
  Terrain terrain;
  double push = 0;
  std::optional<walker::World> world;
  int step = 0, starts = 0;
  for (const auto& [key, at, values] : recording::start(name)) {
    if (key == "heights")
      terrain = {.heights = values, .boxes = {}};
    if (key == "push")
      push = values[0];
    if (key == "box")
      terrain.boxes.push_back({values[0], values[1], values[2], values[3]});
    if (key != "seen")
      continue;
    if (at == 0) {
      world.emplace(terrain, push);
      step = 0;
      ++starts;
    }
    for (; step < at; ++step)
      world->step(recorded_action(step));
    std::array<float, BipedalWalker::observation_size> seen = {};
    world->observe(seen);
    for (std::size_t i = 0; i < seen.size(); ++i)
      EXPECT_NEAR(seen[i], values[i], at <= 3 ? 1e-5 : 1e-2)
        << name << ": component " << i << " after " << at << " steps";
  }
  EXPECT_EQ(starts, 2);
}

TEST(BipedalWalkerTest, follows_gymnasium_for_the_first_steps) {
  expect_recorded_steps("bipedal_walker");
  expect_recorded_steps("bipedal_walker_hardcore");
}

TEST(BipedalWalkerTest, a_linear_policy_gets_gymnasiums_returns_and_lengths) {
  const auto ours = recording::play<Linear>(BipedalWalker(), linear_episodes);
  const auto golden = recording::episodes("bipedal_walker_linear");
  ASSERT_EQ(golden.returns.size(), 1000U);
  EXPECT_LT(recording::difference(ours.returns, golden.returns), 1);
  EXPECT_LT(recording::difference(ours.lengths, golden.lengths), 1);
}

TEST(BipedalWalkerTest, a_linear_policy_gets_gymnasiums_returns_on_hard_terrain) {
  const auto ours = recording::play<Linear>(BipedalWalkerHardcore(), linear_episodes);
  const auto golden = recording::episodes("bipedal_walker_hardcore_linear");
  ASSERT_EQ(golden.returns.size(), 1000U);
  EXPECT_LT(recording::difference(ours.returns, golden.returns), 1);
  EXPECT_LT(recording::difference(ours.lengths, golden.lengths), 1);
}

TEST(BipedalWalkerTest, gymnasiums_controller_walks_as_far_as_in_gymnasium) {
  const auto ours = recording::play<Heuristic>(BipedalWalker(), heuristic_episodes);
  const auto golden = recording::episodes("bipedal_walker_heuristic");
  ASSERT_EQ(golden.returns.size(), 1000U);
  // Four standard errors of the difference of the two means.
  EXPECT_NEAR(recording::mean(ours.returns), recording::mean(golden.returns),
              4 * recording::deviation(golden.returns) *
                std::sqrt(1.0 / heuristic_episodes + 1.0 / 1000));
  EXPECT_LT(recording::difference(ours.returns, golden.returns), 1);
  EXPECT_LT(recording::difference(ours.lengths, golden.lengths), 1);
}

TEST(BipedalWalkerTest, the_same_seed_and_actions_are_the_same_episode) {
  BipedalWalkerHardcore one, other;
  one.reset(3);
  other.reset(4);
  EXPECT_NE(one.terrain(), other.terrain());
  other.step({1, 1, 1, 1});
  other.reset(3);
  BipedalWalkerHardcore moved = std::move(other);
  std::array<float, BipedalWalker::observation_size> seen = {}, same = {};
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(one.step(recorded_action(i)).reward, moved.step(recorded_action(i)).reward);
    one.observe(seen);
    moved.observe(same);
    EXPECT_EQ(seen, same);
  }
}

TEST(BipedalWalkerTest, a_fixed_terrain_is_the_same_each_episode) {
  const Terrain flat{.heights = std::vector<double>(Terrain::points, 3.0), .boxes = {}};
  BipedalWalker walker(flat);
  for (std::uint64_t seed : {1, 2}) {
    walker.reset(seed);
    EXPECT_EQ(walker.terrain(), flat);
  }
}

TEST(BipedalWalkerTest, is_truncated_at_its_limit_of_steps) {
  const Terrain flat{.heights = std::vector<double>(Terrain::points, 3.0), .boxes = {}};
  BipedalWalker walker(flat, 10);
  walker.reset(0);
  for (int step = 1; step <= 10; ++step)
    EXPECT_EQ(walker.step({}).truncated, step == 10);
  EXPECT_EQ(BipedalWalker::step_limit, 1600);
  EXPECT_EQ(BipedalWalkerHardcore::step_limit, 2000);
}

TEST(BipedalWalkerTest, refuses_what_has_no_meaning) {
  BipedalWalker walker;
  EXPECT_THROW(walker.step({}), std::logic_error);
  EXPECT_THROW(walker.terrain(), std::logic_error);
  walker.reset(0);
  EXPECT_THROW(walker.step({std::numeric_limits<float>::quiet_NaN(), 0, 0, 0}),
               std::invalid_argument);
  EXPECT_THROW(BipedalWalker(Terrain{}), std::invalid_argument);
  const std::vector<double> heights(Terrain::points, 3.0);
  EXPECT_THROW(BipedalWalker(Terrain{.heights = heights, .boxes = {{1, 1, 1, 2}}}),
               std::invalid_argument);
}

} // namespace
} // namespace fiber::rl
