// SPDX-License-Identifier: Apache-2.0
#include "rl/env/world_picture.hpp"

#include <array>
#include <vector>

namespace fiber::rl::draw {
namespace {

Point on_canvas(const b2Vec2& point) {
  return {point.x, point.y};
}

void filled(Canvas& canvas, const b2Body& body, const b2PolygonShape& shape,
            Color color) {
  std::vector<Point> corners;
  for (int i = 0; i < shape.m_count; ++i)
    corners.push_back(on_canvas(body.GetWorldPoint(shape.m_vertices[i])));
  canvas.polygon(corners, color);
}

template <class Visit>
void each_shape(const b2Body& body, Visit visit) {
  for (const auto* fixture = body.GetFixtureList(); fixture; fixture = fixture->GetNext())
    visit(*fixture->GetShape());
}

} // namespace

void ground(Canvas& canvas, const b2World& world, double bottom) {
  for (const auto* one = world.GetBodyList(); one; one = one->GetNext())
    if (one->GetType() == b2_staticBody)
      each_shape(*one, [&](const b2Shape& shape) {
        if (shape.GetType() == b2Shape::e_polygon)
          return filled(canvas, *one, static_cast<const b2PolygonShape&>(shape), pale);
        const auto& edge = static_cast<const b2EdgeShape&>(shape);
        const auto from = on_canvas(edge.m_vertex1), to = on_canvas(edge.m_vertex2);
        const std::array<Point, 4> below = {{from, to, {to.x, bottom}, {from.x, bottom}}};
        canvas.polygon(below, pale);
        canvas.line(from, to, 0.08, green);
      });
}

void body(Canvas& canvas, const b2Body& body, Color color) {
  each_shape(body, [&](const b2Shape& shape) {
    if (shape.GetType() == b2Shape::e_polygon)
      filled(canvas, body, static_cast<const b2PolygonShape&>(shape), color);
  });
}

} // namespace fiber::rl::draw
