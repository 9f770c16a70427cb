// SPDX-License-Identifier: Apache-2.0
// The canvas colours the pixels whose centres are in a shape, with y upwards, and leaves
// out what is beyond the image.

#include "rl/env/canvas.hpp"

#include <array>
#include <string>

#include <gtest/gtest.h>

namespace fiber::rl::draw {
namespace {

constexpr Color white{255, 255, 255}, black{0, 0, 0};

// The image as text: '#' is black.
std::string text_of(const Canvas& canvas) {
  std::string text;
  const auto& image = canvas.image();
  for (std::size_t i = 0; i < image.rgb.size(); i += 3) {
    text += image.rgb[i] == 0 ? '#' : '.';
    if ((i / 3 + 1) % static_cast<std::size_t>(image.width) == 0)
      text += '\n';
  }
  return text;
}

TEST(CanvasTest, a_rectangle_has_its_corners_where_the_world_says) {
  Canvas canvas(6, 4, 2, -1, 0, white);
  canvas.rectangle(-0.5, 0, 0.5, 0.5, black);
  EXPECT_EQ(text_of(canvas), "......\n"
                             "......\n"
                             "......\n"
                             ".##...\n");
}

TEST(CanvasTest, a_polygon_is_filled_in_either_order_of_its_corners) {
  const std::array<Point, 3> triangle = {{{0, 0}, {4.5, 0}, {0, 4.5}}};
  const std::array<Point, 3> reversed = {{{0, 4.5}, {4.5, 0}, {0, 0}}};
  Canvas one(4, 4, 1, 0, 0, white), other(4, 4, 1, 0, 0, white);
  one.polygon(triangle, black);
  other.polygon(reversed, black);
  EXPECT_EQ(text_of(one), "#...\n"
                          "##..\n"
                          "###.\n"
                          "####\n");
  EXPECT_EQ(text_of(one), text_of(other));
}

TEST(CanvasTest, a_disc_is_round_and_is_cut_at_the_edge) {
  Canvas canvas(6, 5, 1, 0, 0, white);
  canvas.disc({5.5, 2.5}, 2.1, black);
  EXPECT_EQ(text_of(canvas), ".....#\n"
                             "....##\n"
                             "...###\n"
                             "....##\n"
                             ".....#\n");
  canvas.disc({-50, -50}, 3, black);
  canvas.rectangle(100, 100, 200, 200, black);
}

TEST(CanvasTest, a_thin_line_is_one_pixel_wide) {
  Canvas canvas(5, 3, 1, 0, 0, white);
  canvas.line({1.5, 1.5}, {3.5, 1.5}, 0, black);
  EXPECT_EQ(text_of(canvas), ".....\n"
                             ".###.\n"
                             ".....\n");
}

TEST(CanvasTest, angles_count_from_upright_to_the_right) {
  constexpr double quarter = 1.5707963267948966;
  EXPECT_NEAR(from_upright({1, 1}, quarter, 2).x, 3, 1e-12);
  EXPECT_NEAR(from_upright({1, 1}, quarter, 2).y, 1, 1e-12);
  EXPECT_NEAR(from_upright({1, 1}, 0, 2).y, 3, 1e-12);
}

} // namespace
} // namespace fiber::rl::draw
