// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <span>

#include "fiber/rl/environment.hpp"
#include "fiber/rl/image.hpp"
#include "fiber/rl/random.hpp"

namespace fiber::rl {

/// How Breakout is played. The defaults are those of a deterministic Atari environment.
struct BreakoutOptions {
  /// Frames for which a step's action holds, at least 1. The agent sees the last of them.
  int frame_skip = 4;
  /// The probability, at each frame, that the previous action is repeated in place of the
  /// new one (Machado et al. 2018, section 5, which recommends 0.25).
  double sticky_actions = 0.0;
  /// The loss of a life terminates the episode. The next reset() still starts a new game,
  /// because an episode's start must depend only on its seed.
  bool episodic_life = false;
  /// Steps after which an episode is truncated, at least 1. 27,000 steps of four frames
  /// are half an hour of play, as for Atari.
  int step_limit = 27'000;
  /// The ball is served without action 1, at the start and after each lost life.
  bool fire_on_reset = false;
};

/// A game in the manner of Atari's Breakout, for policies that see images. The rules are
/// this library's own, and no game file is needed.
///
/// An observation is {4, 84, 84} floats in [0, 1]: the grey images after the last four
/// steps, the oldest first, rows from the top. After reset() all four are the same.
/// Actions, as in ALE's minimal set: 0 nothing, 1 fire, 2 right, 3 left.
///
/// Lengths are in pixels, x to the right, y downwards; speeds in pixels a frame.
/// - The court spans x from 6 to 78 and begins at y = 13 below a ceiling; it has no
///   floor.
/// - The wall has 6 rows of 18 bricks of 4 x 2, from y = 23. A brick pays, from the top
///   row to the lowest, 7, 7, 4, 4, 1 and 1 points, which are the reward: 432 a wall.
/// - The paddle is 10 wide, its upper edge is at y = 76, and it moves 1.5 a frame. Once
///   the ball has touched the ceiling it is 5 wide until the ball is lost.
/// - Fire serves the ball, 2 x 2, at y = 40 and a random x, downwards, to a random side.
/// - The ball's vertical speed is 0.8. It rises to 1.0 with the 4th touch of the paddle,
///   to 1.2 with the 12th, to 1.4 with a brick of the two upper rows, and is 0.8 again
///   for the next ball. Its horizontal speed is the vertical one times a slope.
/// - The paddle sets the slope: the distance of the two centres, divided by the greatest
///   at which they touch, but at least 0.2 to either side. So the slope is at most 1, and
///   the paddle is always faster than the ball moves to the side.
/// - At each frame the paddle moves, then the ball to the side, then up or down. A move
///   into a wall, a brick or the paddle is not made, and the speed in that direction is
///   reversed. A ball that would hit two bricks destroys the one that it overlaps more.
/// - The game has 5 lives. A ball that passes the lower edge, y = 84, costs one. When the
///   first wall is gone, a second one appears when the ball next touches the paddle. The
///   game ends with the last life or the last brick of the second wall: 864 points.
///
/// The image shows the lives that are left as marks above the ceiling, not the score.
///
/// A policy that picks each of the four actions at random has a mean return of 1.0 in
/// games of 106 steps on average (1,000 episodes, default options); the best of them got
/// 6 points.
class Breakout {
public:
  using Action = int;

  static constexpr int actions = 4;
  static constexpr std::size_t size = 84; ///< Rows and columns of an image.
  static constexpr std::array<std::size_t, 3> observation_shape{4, size, size};

  static constexpr double court_left = 6, court_right = 78, court_top = 13;
  static constexpr int rows = 6, columns = 18;
  static constexpr int brick_width = 4, brick_height = 2, wall_top = 23;
  static constexpr std::array<int, rows> points = {7, 7, 4, 4, 1, 1};
  static constexpr double paddle_top = 76, paddle_height = 2, paddle_speed = 1.5;
  static constexpr double wide_paddle = 10, narrow_paddle = 5;
  static constexpr double ball_size = 2, serve_y = 40;
  static constexpr int lives_at_start = 5, walls_in_a_game = 2;

  /// All that decides how the game continues, except for the random numbers.
  struct State {
    double paddle_x = 0, paddle_width = wide_paddle; ///< The paddle's left edge.
    bool ball_in_play = false;
    double ball_x = 0, ball_y = 0; ///< The ball's upper left corner.
    double slope = 0;              ///< Horizontal speed divided by vertical; > 0: right.
    int direction = 1;             ///< 1: downwards, -1: upwards.
    double speed = 0;              ///< Vertical, without the direction.
    int paddle_hits = 0;           ///< Of this ball.
    int lives = 0;
    int walls = 0;                          ///< Walls so far, with the present one.
    int score = 0;                          ///< The sum of all rewards.
    std::bitset<rows* columns> bricks = {}; ///< Row by row from the top.

    friend bool operator==(const State&, const State&) = default;
  };

  /// Throws std::invalid_argument for options that are out of their ranges.
  explicit Breakout(BreakoutOptions options = {});

  void reset(std::uint64_t seed);
  /// Plays frame_skip frames, fewer if the episode ends in one of them.
  Step step(Action action);
  void observe(std::span<float> out) const;
  /// The state as a picture of 336 x 336 pixels, with the bricks in colour.
  Image render() const;

  const State& state() const { return state_; }

private:
  using Frame = std::array<std::uint8_t, size * size>;

  void play_frame(int action);
  void serve();
  void move_ball();
  void bounce_off_paddle();
  void lose_ball();
  bool take_brick(double x, double y);
  void build_wall();
  void draw_lives();
  void show();
  bool over() const;

  BreakoutOptions options_;
  State state_;
  Random random_{0};
  int previous_action_ = 0;
  int steps_ = 0;
  Frame background_ = {};            // Walls, bricks and lives.
  std::array<Frame, 4> frames_ = {}; // A ring.
  std::size_t newest_ = 0;
};

} // namespace fiber::rl
