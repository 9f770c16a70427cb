// SPDX-License-Identifier: Apache-2.0
#include "rl/env/revolute_joint.hpp"

#include <algorithm>

namespace fiber::rl {

RevoluteJoint::RevoluteJoint(b2World& world, const b2RevoluteJointDef& def)
  : b2RevoluteJoint(&def) {
  // A world makes joints of Box2D's own types only. It makes one, which keeps the places
  // of this one in the lists of the bodies: there it finds the joints that it solves for.
  const b2Joint* placeholder = world.CreateJoint(&def);
  for (auto* body : {def.bodyA, def.bodyB})
    for (auto* edge = body->GetJointList(); edge; edge = edge->next)
      if (edge->joint == placeholder)
        edge->joint = this;
}

void RevoluteJoint::InitVelocityConstraints(const b2SolverData& data) {
  m_islandFlag = false; // The world resets the placeholder's only.
  const float angle = GetJointAngle();
  const auto limit = angle <= m_lowerAngle   ? Limit::lower
                     : angle >= m_upperAngle ? Limit::upper
                                             : Limit::none;
  if (limit != limit_)
    m_lowerImpulse = m_upperImpulse = 0;
  limit_ = limit;
  m_enableLimit = limit != Limit::none;
  b2RevoluteJoint::InitVelocityConstraints(data);

  const float a = m_invIA, b = m_invIB;
  mass_.ex = {m_K.ex.x, m_K.ex.y, -m_rA.y * a - m_rB.y * b};
  mass_.ey = {m_K.ey.x, m_K.ey.y, m_rA.x * a + m_rB.x * b};
  mass_.ez = {mass_.ex.z, mass_.ey.z, a + b};
}

void RevoluteJoint::SolveVelocityConstraints(const b2SolverData& data) {
  if (limit_ == Limit::none)
    return b2RevoluteJoint::SolveVelocityConstraints(data);
  auto& one = data.velocities[m_indexA];
  auto& other = data.velocities[m_indexB];

  const float most = data.step.dt * m_maxMotorTorque, before = m_motorImpulse;
  m_motorImpulse =
    std::clamp(before - m_axialMass * (other.w - one.w - m_motorSpeed), -most, most);
  one.w -= m_invIA * (m_motorImpulse - before);
  other.w += m_invIB * (m_motorImpulse - before);

  const b2Vec2 slip = other.v + b2Cross(other.w, m_rB) - one.v - b2Cross(one.w, m_rA);
  b2Vec3 impulse = -mass_.Solve33({slip.x, slip.y, other.w - one.w});
  const float sum = m_lowerImpulse - m_upperImpulse; // Of the limit, so far.
  const bool pulls = limit_ == Limit::lower ? sum + impulse.z < 0 : sum + impulse.z > 0;
  if (pulls) { // A limit only pushes: this time, it takes back what it did.
    const b2Vec2 alone = mass_.Solve22(sum * b2Vec2(mass_.ez.x, mass_.ez.y) - slip);
    impulse = {alone.x, alone.y, -sum};
  }
  const b2Vec2 push(impulse.x, impulse.y);
  m_impulse += push;
  (limit_ == Limit::lower ? m_lowerImpulse : m_upperImpulse) =
    pulls ? 0 : b2Abs(sum + impulse.z);

  one.v -= m_invMassA * push;
  one.w -= m_invIA * (b2Cross(m_rA, push) + impulse.z);
  other.v += m_invMassB * push;
  other.w += m_invIB * (b2Cross(m_rB, push) + impulse.z);
}

bool RevoluteJoint::SolvePositionConstraints(const b2SolverData& data) {
  const float angle =
    data.positions[m_indexB].a - data.positions[m_indexA].a - m_referenceAngle;
  const float error = limit_ == Limit::lower   ? m_lowerAngle - angle
                      : limit_ == Limit::upper ? angle - m_upperAngle
                                               : 0;
  const bool solved = b2RevoluteJoint::SolvePositionConstraints(data);
  return solved && error <= b2_angularSlop; // 2.4 allows twice as much.
}

} // namespace fiber::rl
