// SPDX-License-Identifier: Apache-2.0
#include "rl/mujoco/solid.hpp"

#include <algorithm>
#include <cstddef>

namespace fiber::rl::mujoco {
namespace {
namespace shapes {

constexpr double nearest = 1e-6;

void take(double distance, Vector normal, Hit& hit) {
  if (distance > nearest && distance < hit.distance)
    hit = {distance, normal};
}

void ball(const Ray& ray, double height, double radius, Hit& hit) {
  const Vector from = ray.from - Vector{0, 0, height};
  const double b = dot(from, ray.along), c = dot(from, from) - radius * radius;
  const double root = b * b - c;
  if (root < 0)
    return;
  const double distance = -b - std::sqrt(root);
  take(distance, 1 / radius * (from + distance * ray.along), hit);
}

/// The side of a cylinder.
void tube(const Ray& ray, double radius, double half, Hit& hit) {
  const auto& [from, along] = ray;
  const double a = along.x * along.x + along.y * along.y;
  const double b = from.x * along.x + from.y * along.y;
  const double root = b * b - a * (from.x * from.x + from.y * from.y - radius * radius);
  if (a < 1e-12 || root < 0)
    return;
  const double distance = (-b - std::sqrt(root)) / a;
  const Vector place = from + distance * along;
  if (std::abs(place.z) <= half)
    take(distance, {place.x / radius, place.y / radius, 0}, hit);
}

void caps(const Ray& ray, double radius, double half, Hit& hit) {
  const double side = ray.along.z < 0 ? 1 : -1; // The cap that faces the ray.
  const double distance = (side * half - ray.from.z) / ray.along.z;
  const Vector place = ray.from + distance * ray.along;
  if (place.x * place.x + place.y * place.y <= radius * radius)
    take(distance, {0, 0, side}, hit);
}

void box(const Ray& ray, Vector half, Hit& hit) {
  const std::array from{ray.from.x, ray.from.y, ray.from.z};
  const std::array along{ray.along.x, ray.along.y, ray.along.z};
  const std::array edge{half.x, half.y, half.z};
  double enter = -HUGE_VAL, leave = HUGE_VAL;
  std::size_t side = 0;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (std::abs(along[axis]) < 1e-12) {
      if (std::abs(from[axis]) > edge[axis])
        return;
      continue;
    }
    const double reach = edge[axis] / std::abs(along[axis]);
    const double middle = -from[axis] / along[axis];
    if (middle - reach > enter) {
      enter = middle - reach;
      side = axis;
    }
    leave = std::min(leave, middle + reach);
  }
  if (enter > leave)
    return;
  std::array<double, 3> normal{};
  normal[side] = along[side] < 0 ? 1 : -1;
  take(enter, {normal[0], normal[1], normal[2]}, hit);
}

void ellipsoid(const Ray& ray, Vector size, Hit& hit) {
  const auto shrunk = [&](Vector v) {
    return Vector{v.x / size.x, v.y / size.y, v.z / size.z};
  };
  const Vector from = shrunk(ray.from), along = shrunk(ray.along);
  const double a = dot(along, along), b = dot(from, along);
  const double root = b * b - a * (dot(from, from) - 1);
  if (root < 0)
    return;
  const double distance = (-b - std::sqrt(root)) / a;
  take(distance, unit(shrunk(from + distance * along)), hit);
}

void plane(const Ray& ray, Hit& hit) {
  if (ray.along.z < 0)
    take(-ray.from.z / ray.along.z, {0, 0, 1}, hit);
}

void shape(int type, const Ray& ray, Vector size, Hit& hit) {
  switch (type) {
  case mjGEOM_PLANE:
    return plane(ray, hit);
  case mjGEOM_SPHERE:
    return ball(ray, 0, size.x, hit);
  case mjGEOM_CAPSULE:
    ball(ray, -size.y, size.x, hit);
    ball(ray, size.y, size.x, hit);
    return tube(ray, size.x, size.y, hit);
  case mjGEOM_CYLINDER:
    caps(ray, size.x, size.y, hit);
    return tube(ray, size.x, size.y, hit);
  case mjGEOM_BOX:
    return box(ray, size, hit);
  default:
    return ellipsoid(ray, size, hit);
  }
}

Vector vector_at(const mjtNum* values) {
  return {values[0], values[1], values[2]};
}

} // namespace shapes
} // namespace

Solid::Solid(const mjModel& model, const mjData& data, int geom)
  : type_(model.geom_type[geom]),
    size_(shapes::vector_at(model.geom_size + std::ptrdiff_t{3} * geom)),
    at_(shapes::vector_at(data.geom_xpos + std::ptrdiff_t{3} * geom)),
    bound_(model.geom_rbound[geom]) {
  const auto* rows = data.geom_xmat + std::ptrdiff_t{9} * geom;
  for (std::size_t axis = 0; axis < 3; ++axis)
    axes_[axis] = {rows[axis], rows[3 + axis], rows[6 + axis]};
}

bool Solid::may_meet(const Ray& ray) const {
  const Vector to = at_ - ray.from;
  const double along = dot(to, ray.along);
  return along > -bound_ && dot(to, to) - along * along <= bound_ * bound_;
}

bool Solid::meet(const Ray& ray, Hit& hit) const {
  const auto own = [&](Vector v) {
    return Vector{dot(v, axes_[0]), dot(v, axes_[1]), dot(v, axes_[2])};
  };
  const double before = hit.distance;
  shapes::shape(type_, {own(ray.from - at_), own(ray.along)}, size_, hit);
  if (hit.distance >= before)
    return false;
  hit.normal =
    hit.normal.x * axes_[0] + hit.normal.y * axes_[1] + hit.normal.z * axes_[2];
  return true;
}

} // namespace fiber::rl::mujoco
