// SPDX-License-Identifier: Apache-2.0
// The pictures of the environments that have no physics engine.

#include <array>
#include <cmath>
#include <numbers>

#include "fiber/rl/acrobot.hpp"
#include "fiber/rl/breakout.hpp"
#include "fiber/rl/cartpole.hpp"
#include "fiber/rl/knights_tour.hpp"
#include "fiber/rl/mountain_car_continuous.hpp"
#include "fiber/rl/pendulum.hpp"
#include "rl/env/canvas.hpp"

namespace fiber::rl {

Image CartPole::render() const {
  using namespace draw;
  constexpr double half_width = 2.6, ground = 0, axle = 0.38;
  Canvas canvas(364, 182, 70, -half_width, -0.6);
  const auto [x, x_dot, theta, theta_dot] = state_;
  canvas.rectangle(-half_width, -0.6, half_width, ground, pale);
  for (double limit : {-2.4, 2.4}) // Where an episode ends.
    canvas.line({limit, ground}, {limit, -0.12}, 0.04, red);
  canvas.rectangle(x - 0.3, 0.12, x + 0.3, axle, ink);
  for (double wheel : {-0.18, 0.18})
    canvas.disc({x + wheel, 0.1}, 0.1, ink);
  canvas.line({x, axle}, from_upright({x, axle}, theta, 1.0), 0.1, orange);
  canvas.disc({x, axle}, 0.05, blue);
  return canvas.image();
}

Image Pendulum::render() const {
  using namespace draw;
  constexpr double edge = 1.3;
  Canvas canvas(260, 260, 100, -edge, -edge);
  canvas.line({0, 1.15}, {0, 1.25}, 0.03, green); // Where it should stand.
  // Gymnasium's angle counts to the left.
  canvas.line({0, 0}, from_upright({0, 0}, -state_[0], 1.0), 0.2, red);
  canvas.disc({0, 0}, 0.05, ink);
  return canvas.image();
}

Image Acrobot::render() const {
  using namespace draw;
  constexpr double edge = 2.2;
  Canvas canvas(286, 286, 65, -edge, -edge);
  // Angles count from hanging down, to the right.
  const auto pi = std::numbers::pi;
  const Point bar{0, 0};
  const Point joint = from_upright(bar, pi - state_[0], 1.0);
  const Point tip = from_upright(joint, pi - state_[0] - state_[1], 1.0);
  canvas.line({-edge, 1}, {edge, 1}, 0.02, green); // To be reached.
  canvas.line(bar, joint, 0.2, blue);
  canvas.line(joint, tip, 0.2, orange);
  canvas.disc(bar, 0.07, ink);
  canvas.disc(joint, 0.07, ink);
  return canvas.image();
}

Image MountainCarContinuous::render() const {
  using namespace draw;
  constexpr double left = -1.2, right = 0.6;
  const auto height = [](double x) { return std::sin(3 * x) * 0.45 + 0.55; };
  Canvas canvas(360, 240, 200, left, 0);
  for (double x = left; x < right; x += 0.005) // One pixel.
    canvas.rectangle(x, 0, x + 0.005, height(x), pale);
  for (double x = left; x < right; x += 0.005)
    canvas.line({x, height(x)}, {x + 0.005, height(x + 0.005)}, 0.012, ink);

  constexpr double goal = 0.45;
  canvas.line({goal, height(goal)}, {goal, height(goal) + 0.2}, 0.01, ink);
  const std::array<Point, 3> flag = {{{goal, height(goal) + 0.2},
                                      {goal, height(goal) + 0.12},
                                      {goal + 0.09, height(goal) + 0.16}}};
  canvas.polygon(flag, red);

  const double x = state_[0];
  const double slope = std::atan(3 * 0.45 * std::cos(3 * x));
  const auto on_car = [&](double along, double above) -> Point {
    return {x + along * std::cos(slope) - above * std::sin(slope),
            height(x) + along * std::sin(slope) + above * std::cos(slope)};
  };
  const std::array<Point, 4> body = {
    {on_car(-0.1, 0.035), on_car(0.1, 0.035), on_car(0.08, 0.095), on_car(-0.08, 0.095)}};
  canvas.polygon(body, blue);
  for (double wheel : {-0.055, 0.055})
    canvas.disc(on_car(wheel, 0.032), 0.026, ink);
  return canvas.image();
}

Image Breakout::render() const {
  using namespace draw;
  constexpr std::array<Color, rows> colors = {{{200, 72, 72},
                                               {198, 108, 58},
                                               {180, 122, 48},
                                               {162, 162, 42},
                                               {72, 160, 72},
                                               {66, 72, 200}}};
  constexpr double edge = size;
  Canvas canvas(336, 336, 4, 0, 0, {0, 0, 0});
  // The court's y points downwards.
  const auto fill = [&](double left, double top, double width, double height,
                        Color color) {
    canvas.rectangle(left, edge - top - height, left + width, edge - top, color);
  };
  fill(0, court_top - 6, edge, 6, {142, 142, 142});
  fill(0, court_top, court_left, edge, {142, 142, 142});
  fill(court_right, court_top, edge - court_right, edge, {142, 142, 142});
  for (int life = 0; life < state_.lives; ++life)
    fill(court_left + 5 * life, 2, 3, 3, {200, 72, 72});
  for (int row = 0; row < rows; ++row)
    for (int column = 0; column < columns; ++column)
      if (state_.bricks[static_cast<std::size_t>(row * columns + column)])
        fill(court_left + column * brick_width, wall_top + row * brick_height,
             brick_width, brick_height, colors[static_cast<std::size_t>(row)]);
  fill(state_.paddle_x, paddle_top, state_.paddle_width, paddle_height, {200, 72, 72});
  if (state_.ball_in_play)
    fill(state_.ball_x, state_.ball_y, ball_size, ball_size, {236, 236, 236});
  return canvas.image();
}

Image KnightsTour::render() const {
  using namespace draw;
  Canvas canvas(256, 256, 32, 0, 0);
  const auto centre = [](int square) {
    return Point{square % side + 0.5, side - 0.5 - square / side}; // Row 0 is on top.
  };
  for (int square = 0; square < actions; ++square)
    if (const auto [x, y] = centre(square); (square / side + square % side) % 2 == 1)
      canvas.rectangle(x - 0.5, y - 0.5, x + 0.5, y + 0.5, pale);
  const auto squares = path();
  for (std::size_t i = 1; i < squares.size(); ++i)
    canvas.line(centre(squares[i - 1]), centre(squares[i]), 0.08, blue);
  for (const int square : squares)
    canvas.disc(centre(square), 0.16, blue);
  if (!squares.empty())
    canvas.disc(centre(squares.back()), 0.3, orange);
  return canvas.image();
}

} // namespace fiber::rl
