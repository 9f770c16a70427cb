// SPDX-License-Identifier: Apache-2.0
#include "rl/env/canvas.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace fiber::rl::draw {
namespace {

// The pixels whose centres lie between two coordinates: first to last - 1, inside 0 to
// size.
struct Pixels {
  Pixels(double from, double to, int size)
    : first(clamped(from, size)), last(clamped(to, size)) {}
  static int clamped(double at, int size) {
    return static_cast<int>(std::clamp(std::ceil(at - 0.5), 0.0, double(size)));
  }
  int first, last;
};

double distance_to_segment(Point point, Point from, Point to) {
  const double dx = to.x - from.x, dy = to.y - from.y;
  const double length2 = dx * dx + dy * dy;
  double along = 0;
  if (length2 > 0)
    along = ((point.x - from.x) * dx + (point.y - from.y) * dy) / length2;
  along = std::clamp(along, 0.0, 1.0);
  return std::hypot(point.x - from.x - along * dx, point.y - from.y - along * dy);
}

} // namespace

Canvas::Canvas(int width, int height, double pixels_per_unit, double left, double bottom,
               Color background)
  : image_{width, height, {}}, scale_(pixels_per_unit), left_(left), bottom_(bottom) {
  image_.rgb.resize(3 * static_cast<std::size_t>(width) *
                    static_cast<std::size_t>(height));
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      set(x, y, background);
}

Point Canvas::pixel(Point world) const {
  return {(world.x - left_) * scale_, image_.height - (world.y - bottom_) * scale_};
}

void Canvas::set(int x, int y, Color color) {
  auto* at = image_.rgb.data() + 3 * (static_cast<std::ptrdiff_t>(y) * image_.width + x);
  at[0] = color.red;
  at[1] = color.green;
  at[2] = color.blue;
}

void Canvas::line(Point from, Point to, double width, Color color) {
  const Point a = pixel(from), b = pixel(to);
  const double radius = std::max(width * scale_, 1.0) / 2;
  const Pixels rows(std::min(a.y, b.y) - radius, std::max(a.y, b.y) + radius,
                    image_.height);
  const Pixels columns(std::min(a.x, b.x) - radius, std::max(a.x, b.x) + radius,
                       image_.width);
  for (int y = rows.first; y < rows.last; ++y)
    for (int x = columns.first; x < columns.last; ++x)
      if (distance_to_segment({x + 0.5, y + 0.5}, a, b) <= radius)
        set(x, y, color);
}

void Canvas::disc(Point center, double radius, Color color) {
  line(center, center, 2 * radius, color);
}

void Canvas::rectangle(double left, double bottom, double right, double top,
                       Color color) {
  const std::array<Point, 4> corners = {
    {{left, bottom}, {right, bottom}, {right, top}, {left, top}}};
  polygon(corners, color);
}

void Canvas::polygon(std::span<const Point> corners, Color color) {
  double top = std::numeric_limits<double>::max(), bottom = -top;
  for (const auto& corner : corners) {
    top = std::min(top, pixel(corner).y);
    bottom = std::max(bottom, pixel(corner).y);
  }
  const Pixels rows(top, bottom, image_.height);
  for (int y = rows.first; y < rows.last; ++y) {
    // Where the row's middle crosses the outline.
    const double middle = y + 0.5;
    double from = std::numeric_limits<double>::max(), to = -from;
    for (std::size_t i = 0; i < corners.size(); ++i) {
      const Point a = pixel(corners[i]), b = pixel(corners[(i + 1) % corners.size()]);
      if ((a.y <= middle) == (b.y <= middle))
        continue;
      const double x = a.x + (middle - a.y) / (b.y - a.y) * (b.x - a.x);
      from = std::min(from, x);
      to = std::max(to, x);
    }
    const Pixels columns(from, to, image_.width);
    for (int x = columns.first; x < columns.last; ++x)
      set(x, y, color);
  }
}

Point from_upright(Point from, double angle, double distance) {
  return {from.x + std::sin(angle) * distance, from.y + std::cos(angle) * distance};
}

} // namespace fiber::rl::draw
