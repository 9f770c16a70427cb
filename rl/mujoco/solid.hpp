// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cmath>

#include <mujoco/mujoco.h>

// Where a ray meets the shapes that MuJoCo has.

namespace fiber::rl::mujoco {

struct Vector {
  double x = 0, y = 0, z = 0;

  friend Vector operator+(Vector a, Vector b) {
    return {a.x + b.x, a.y + b.y, a.z + b.z};
  }
  friend Vector operator-(Vector a, Vector b) {
    return {a.x - b.x, a.y - b.y, a.z - b.z};
  }
  friend Vector operator*(double s, Vector a) { return {s * a.x, s * a.y, s * a.z}; }
};

inline double dot(Vector a, Vector b) {
  return a.x * b.x + a.y * b.y + a.z * b.z;
}

inline Vector unit(Vector a) {
  return 1 / std::sqrt(dot(a, a)) * a;
}

struct Ray {
  Vector from, along; ///< `along` has length 1.
};

struct Hit {
  double distance = HUGE_VAL;
  Vector normal;
};

/// A geom at its place in the world. A mesh or a height field is drawn as an ellipsoid.
class Solid {
public:
  Solid(const mjModel& model, const mjData& data, int geom);

  bool is_plane() const { return type_ == mjGEOM_PLANE; }
  Vector center() const { return at_; }
  /// The radius of a ball around it; a plane has none.
  double bound() const { return bound_; }
  bool may_meet(const Ray& ray) const;
  /// Takes the place where the ray meets it if that is nearer than `hit`.
  bool meet(const Ray& ray, Hit& hit) const;

private:
  int type_;
  Vector size_, at_;
  double bound_;
  std::array<Vector, 3> axes_; ///< Its own axes, in the world.
};

} // namespace fiber::rl::mujoco
