// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "fiber/rl/image.hpp"

namespace fiber::rl::draw {

struct Color {
  std::uint8_t red = 0, green = 0, blue = 0;
};

// What the environments' pictures have in common.
inline constexpr Color paper{250, 250, 247}, ink{40, 44, 52}, pale{205, 208, 212},
  blue{52, 101, 164}, orange{222, 120, 40}, green{78, 140, 70}, red{196, 60, 52};

struct Point {
  double x = 0, y = 0;
};

/// An image that is drawn on in the units of a world, whose y points upwards. A pixel
/// belongs to a shape if its centre does; what lies outside the image is left out.
class Canvas {
public:
  /// `left` and `bottom` are the world's coordinates of the image's lower left corner.
  Canvas(int width, int height, double pixels_per_unit, double left, double bottom,
         Color background = paper);

  /// A line with round ends, at least one pixel wide.
  void line(Point from, Point to, double width, Color color);
  void disc(Point center, double radius, Color color);
  void rectangle(double left, double bottom, double right, double top, Color color);
  /// A convex polygon of at least three corners, in either order.
  void polygon(std::span<const Point> corners, Color color);

  const Image& image() const { return image_; }

private:
  Point pixel(Point world) const;
  void set(int x, int y, Color color);

  Image image_;
  double scale_, left_, bottom_;
};

/// The point at this distance from `from`, in the direction of an angle that counts from
/// upright, in radians, to the right.
Point from_upright(Point from, double angle, double distance);

} // namespace fiber::rl::draw
