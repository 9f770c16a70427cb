// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <box2d/box2d.h>

#include "rl/env/canvas.hpp"

namespace fiber::rl::draw {

/// Draws the static bodies of a world: polygons filled, lines with the ground below them
/// down to `bottom`.
void ground(Canvas& canvas, const b2World& world, double bottom);

/// Draws a body that consists of polygons.
void body(Canvas& canvas, const b2Body& body, Color color);

} // namespace fiber::rl::draw
