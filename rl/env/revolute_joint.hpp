// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <box2d/box2d.h>

namespace fiber::rl {

/// A revolute joint with a motor and limits that behaves as in Box2D 2.3, on which
/// Gymnasium stands:
///
/// - A limit acts in a step only if the joint is at it when the step begins. In 2.4 it
/// slows
///   the joint down before.
/// - A limit and the point that the two bodies share are solved for together. In 2.4 they
///   are solved for one after the other, which for light legs on long levers is far from
///   the solution after Gymnasium's 180 iterations.
///
/// Lives until its world is no longer used.
class RevoluteJoint final : public b2RevoluteJoint {
public:
  RevoluteJoint(b2World& world, const b2RevoluteJointDef& def);
  RevoluteJoint(const RevoluteJoint&) = delete;
  RevoluteJoint& operator=(const RevoluteJoint&) = delete;

protected:
  void InitVelocityConstraints(const b2SolverData& data) override;
  void SolveVelocityConstraints(const b2SolverData& data) override;
  bool SolvePositionConstraints(const b2SolverData& data) override;

private:
  enum class Limit { none, lower, upper };

  Limit limit_ = Limit::none; ///< The one that acts in this step.
  b2Mat33 mass_; ///< Of the point (x, y) and the angle (z) together, inverse.
};

} // namespace fiber::rl
