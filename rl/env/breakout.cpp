// SPDX-License-Identifier: Apache-2.0
#include "fiber/rl/breakout.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "fiber/rl/detail/number_text.hpp"

namespace fiber::rl {
namespace {
namespace court {

// The ball's vertical speeds: at the serve, after two numbers of touches of the paddle,
// and after a brick of the upper rows.
constexpr double serve_speed = 0.8, second_speed = 1.0, third_speed = 1.2,
                 top_speed = 1.4;
constexpr int hits_to_second = 4, hits_to_third = 12, fast_rows = 2;
constexpr double min_slope = 0.2, min_serve_slope = 0.4;

// Grey levels.
constexpr std::array<std::uint8_t, Breakout::rows> brick_greys = {110, 122, 134,
                                                                  146, 158, 170};
constexpr std::uint8_t wall_grey = 90, life_grey = 150, paddle_grey = 200,
                       ball_grey = 255;
constexpr int ceiling_height = 6, life_top = 2, life_width = 3, life_pitch = 5;

// Fills the pixels of a rectangle; what is outside the image is left out.
void fill(std::span<std::uint8_t> frame, double left, double top, double width,
          double height, std::uint8_t grey) {
  constexpr int size = Breakout::size;
  const int x = static_cast<int>(std::lround(left));
  const int y = static_cast<int>(std::lround(top));
  const int end_x = std::min(x + static_cast<int>(width), size);
  const int end_y = std::min(y + static_cast<int>(height), size);
  for (int row = y; row < end_y; ++row)
    std::fill(frame.begin() + row * size + x, frame.begin() + row * size + end_x, grey);
}

void check(const BreakoutOptions& options) {
  if (options.frame_skip < 1)
    throw std::invalid_argument("Breakout: frame_skip is " +
                                std::to_string(options.frame_skip) +
                                "; it must be at least 1");
  if (!(options.sticky_actions >= 0 && options.sticky_actions <= 1))
    throw std::invalid_argument("Breakout: sticky_actions is " +
                                detail::shown(options.sticky_actions) +
                                "; it is a probability, from 0 to 1");
  if (options.step_limit < 1)
    throw std::invalid_argument("Breakout: step_limit is " +
                                std::to_string(options.step_limit) +
                                "; it must be at least 1");
}

} // namespace court
} // namespace

Breakout::Breakout(BreakoutOptions options) : options_(options) {
  court::check(options);
}

void Breakout::reset(std::uint64_t seed) {
  using namespace court;
  random_ = Random(seed);
  state_ = {};
  state_.paddle_x = (court_left + court_right - wide_paddle) / 2;
  state_.lives = lives_at_start;
  previous_action_ = 0;
  steps_ = 0;

  background_ = {};
  const double top = court_top - ceiling_height;
  fill(background_, 0, top, size, ceiling_height, wall_grey);
  fill(background_, 0, top, court_left, size, wall_grey);
  fill(background_, court_right, top, size - court_right, size, wall_grey);
  draw_lives();
  build_wall();
  if (options_.fire_on_reset)
    serve();
  show();
  for (auto& frame : frames_)
    frame = frames_[newest_];
}

Step Breakout::step(Action action) {
  if (action < 0 || action >= actions)
    throw std::invalid_argument("Breakout: no action " + std::to_string(action) +
                                "; there are 0 to 3");
  const int score = state_.score;
  const int lives = state_.lives;
  bool terminated = over();
  for (int frame = 0; frame < options_.frame_skip && !terminated; ++frame) {
    const bool sticks =
      options_.sticky_actions > 0 && random_.uniform() < options_.sticky_actions;
    if (!sticks)
      previous_action_ = action;
    play_frame(previous_action_);
    terminated = over() || (options_.episodic_life && state_.lives < lives);
  }
  show();
  return {.reward = static_cast<double>(state_.score - score),
          .terminated = terminated,
          .truncated = ++steps_ >= options_.step_limit};
}

void Breakout::observe(std::span<float> out) const {
  auto* to = out.data();
  for (std::size_t age = frames_.size(); age-- > 0;) {
    const auto& frame = frames_[(newest_ + frames_.size() - age) % frames_.size()];
    for (std::size_t i = 0; i < frame.size(); ++i)
      to[i] = static_cast<float>(frame[i]) * (1.0f / 255);
    to += frame.size();
  }
}

bool Breakout::over() const {
  return state_.lives == 0 || (state_.bricks.none() && state_.walls == walls_in_a_game);
}

void Breakout::play_frame(int action) {
  if (action == 2 || action == 3) {
    const double x = state_.paddle_x + (action == 2 ? paddle_speed : -paddle_speed);
    state_.paddle_x = std::clamp(x, court_left, court_right - state_.paddle_width);
  }
  if (state_.ball_in_play)
    move_ball();
  else if (action == 1)
    serve();
}

void Breakout::serve() {
  using namespace court;
  state_.ball_in_play = true;
  state_.ball_x = random_.uniform(court_left, court_right - ball_size);
  state_.ball_y = serve_y;
  state_.slope = random_.uniform(min_serve_slope, 1) * (random_.below(2) == 0 ? -1 : 1);
  state_.direction = 1;
  state_.speed = serve_speed;
  state_.paddle_hits = 0;
}

void Breakout::move_ball() {
  const double x = state_.ball_x + state_.slope * state_.speed;
  if (x < court_left || x + ball_size > court_right || take_brick(x, state_.ball_y))
    state_.slope = -state_.slope;
  else
    state_.ball_x = x;

  const double y = state_.ball_y + state_.direction * state_.speed;
  if (y < court_top) {
    state_.direction = 1;
    // Shrinks towards its middle.
    state_.paddle_x += (state_.paddle_width - narrow_paddle) / 2;
    state_.paddle_width = narrow_paddle;
  } else if (take_brick(state_.ball_x, y)) {
    state_.direction = -state_.direction;
  } else if (state_.ball_y + ball_size <= paddle_top && y + ball_size > paddle_top &&
             state_.ball_x < state_.paddle_x + state_.paddle_width &&
             state_.ball_x + ball_size > state_.paddle_x) {
    bounce_off_paddle();
  } else if (y + ball_size > static_cast<double>(size)) {
    lose_ball();
  } else {
    state_.ball_y = y;
  }
}

void Breakout::bounce_off_paddle() {
  using namespace court;
  const double distance =
    (state_.ball_x + ball_size / 2) - (state_.paddle_x + state_.paddle_width / 2);
  const double greatest = (ball_size + state_.paddle_width) / 2;
  const double slope = std::max(std::abs(distance) / greatest, min_slope);
  state_.slope = distance < 0 ? -slope : slope;
  state_.direction = -1;
  ++state_.paddle_hits;
  if (state_.paddle_hits == hits_to_second)
    state_.speed = std::max(state_.speed, second_speed);
  if (state_.paddle_hits == hits_to_third)
    state_.speed = std::max(state_.speed, third_speed);
  if (state_.bricks.none() && state_.walls < walls_in_a_game)
    build_wall();
}

void Breakout::lose_ball() {
  state_.ball_in_play = false;
  --state_.lives;
  draw_lives();
  // Grows from its middle.
  const double x = state_.paddle_x - (wide_paddle - state_.paddle_width) / 2;
  state_.paddle_width = wide_paddle;
  state_.paddle_x = std::clamp(x, court_left, court_right - wide_paddle);
  if (options_.fire_on_reset && state_.lives > 0)
    serve();
}

// Takes the brick that a ball at this place overlaps most and says whether there is one.
bool Breakout::take_brick(double x, double y) {
  using namespace court;
  constexpr double bottom = wall_top + rows * brick_height;
  if (y >= bottom || y + ball_size <= wall_top)
    return false;
  const auto overlap = [](double ball, double brick, double length) {
    return std::min(ball + ball_size, brick + length) - std::max(ball, brick);
  };
  const int first_row = std::max(0, static_cast<int>((y - wall_top) / brick_height));
  const int first_column = static_cast<int>((x - court_left) / brick_width);
  double most = 0;
  int taken_row = 0, taken_column = 0;
  for (int row = first_row; row < std::min(first_row + 2, rows); ++row)
    for (int column = first_column; column < std::min(first_column + 2, columns);
         ++column) {
      if (!state_.bricks[static_cast<std::size_t>(row * columns + column)])
        continue;
      const double area =
        std::max(0.0, overlap(x, court_left + column * brick_width, brick_width)) *
        overlap(y, wall_top + row * brick_height, brick_height);
      if (area > most) {
        most = area;
        taken_row = row;
        taken_column = column;
      }
    }
  if (most <= 0)
    return false;
  state_.bricks.reset(static_cast<std::size_t>(taken_row * columns + taken_column));
  state_.score += points[static_cast<std::size_t>(taken_row)];
  if (taken_row < fast_rows)
    state_.speed = top_speed;
  fill(background_, court_left + taken_column * brick_width,
       wall_top + taken_row * brick_height, brick_width, brick_height, 0);
  return true;
}

void Breakout::build_wall() {
  state_.bricks.set();
  ++state_.walls;
  for (int row = 0; row < rows; ++row)
    court::fill(background_, court_left, wall_top + row * brick_height,
                columns * brick_width, brick_height,
                court::brick_greys[static_cast<std::size_t>(row)]);
}

void Breakout::draw_lives() {
  using namespace court;
  for (int life = 0; life < lives_at_start; ++life)
    fill(background_, court_left + life * life_pitch, life_top, life_width, life_width,
         life < state_.lives ? life_grey : 0);
}

void Breakout::show() {
  using namespace court;
  newest_ = (newest_ + 1) % frames_.size();
  auto& frame = frames_[newest_];
  frame = background_;
  fill(frame, state_.paddle_x, paddle_top, state_.paddle_width, paddle_height,
       paddle_grey);
  if (state_.ball_in_play)
    fill(frame, state_.ball_x, state_.ball_y, ball_size, ball_size, ball_grey);
}

} // namespace fiber::rl
