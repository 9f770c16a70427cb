// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "fiber/rl/image.hpp"
#include "rl/mujoco/simulation.hpp"

namespace fiber::rl::mujoco {

/// From where a scene is seen. Angles are in degrees.
struct View {
  bool follows = true; ///< Moves with the centre of mass, along x and y.
  double height = 0;   ///< Of the point that is in the middle of the picture.
  double distance = 1; ///< From that point.
  double up = 10;      ///< How steeply the camera looks down.
  double turn = 0;     ///< How far to the left the camera stands; 0: it looks along y.
};

/// A view from the side that shows all that moves of a model of which nothing else is
/// known.
View view_of(const Simulation& simulation);

/// The scene, drawn on the CPU: planes, spheres, capsules, cylinders, boxes, ellipsoids.
/// All else is drawn as an ellipsoid. Shades are few, so that a GIF of many pictures has
/// exact colours.
Image picture(const Simulation& simulation, const View& view);

} // namespace fiber::rl::mujoco
