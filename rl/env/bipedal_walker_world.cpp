// SPDX-License-Identifier: Apache-2.0
#include "rl/env/bipedal_walker_world.hpp"

#include <algorithm>
#include <cmath>

#include "rl/env/world_picture.hpp"

namespace fiber::rl::walker {
namespace {

// Values and order of operations are Gymnasium's. It computes with doubles on what it
// reads from Box2D's floats, and so does this.
constexpr double scale = 30; // Pixels a metre.
constexpr double fps = 50;
constexpr double width = 600 / scale, height = 400 / scale; // Of the screen, in metres.
constexpr double motor_torque = 80, hip_speed = 4, knee_speed = 6;
constexpr double ray_length = 160 / scale;
constexpr double hip_y = -8 / scale; // From the hull's middle.
constexpr double leg_width = 8 / scale, leg_length = 34 / scale;
constexpr double start_x = Terrain::spacing * 20 / 2;
constexpr double start_y = height / 4 + 2 * leg_length;
constexpr double goal_x = (Terrain::points - 10) * Terrain::spacing;
constexpr float ground_friction = 2.5F;
constexpr uint16 ground_bit = 0x0001, walker_bit = 0x0020;

b2Vec2 vec(double x, double y) {
  return {static_cast<float>(x), static_cast<float>(y)};
}

/// Where a part of the ray ends, from the hull's middle.
b2Vec2 ray_end(const b2Vec2& from, std::size_t ray, double part) {
  const double angle = 1.5 * static_cast<double>(ray) / 10.0; // From straight down.
  return vec(from.x + std::sin(angle) * ray_length * part,
             from.y - std::cos(angle) * ray_length * part);
}

bool involves(const b2Contact& contact, const b2Body* body) {
  return contact.GetFixtureA()->GetBody() == body ||
         contact.GetFixtureB()->GetBody() == body;
}

b2FixtureDef walker_fixture(const b2Shape& shape, float density, float friction) {
  b2FixtureDef fixture;
  fixture.shape = &shape;
  fixture.density = density;
  fixture.friction = friction;
  fixture.filter.categoryBits = walker_bit;
  fixture.filter.maskBits = ground_bit;
  return fixture;
}

/// The joint of a walker. Box2D 2.3, on which Gymnasium stands, wakes its bodies with
/// each new speed of its motor, and 2.4 with a different one.
void drive(b2RevoluteJoint& joint, double speed, double action) {
  for (auto* body : {joint.GetBodyA(), joint.GetBodyB()})
    if (!body->IsAwake())
      body->SetAwake(true);
  const double sign = (action > 0) - (action < 0);
  joint.SetMotorSpeed(static_cast<float>(speed * sign));
  joint.SetMaxMotorTorque(
    static_cast<float>(motor_torque * std::min(std::abs(action), 1.0)));
}

/// The ground along a ray.
class NearestGround final : public b2RayCastCallback {
public:
  float ReportFixture(b2Fixture* fixture, const b2Vec2&, const b2Vec2&,
                      float fraction) override {
    if ((fixture->GetFilterData().categoryBits & ground_bit) == 0)
      return -1; // The walker itself: goes on.
    return distance = fraction;
  }

  float distance = 1;
};

} // namespace

World::World(const Terrain& terrain, double push) : world_({0, -10}) {
  world_.SetContactListener(this);
  make_ground(terrain);
  make_hull(push);
  legs_[0] = make_leg(-1);
  legs_[1] = make_leg(+1);
  step({}); // A part of Gymnasium's reset.
}

void World::make_ground(const Terrain& terrain) {
  const auto add = [this](const b2Shape& shape) {
    b2FixtureDef fixture;
    fixture.shape = &shape;
    fixture.friction = ground_friction;
    fixture.filter.categoryBits = ground_bit;
    const b2BodyDef body;
    world_.CreateBody(&body)->CreateFixture(&fixture);
  };
  const auto point = [&](std::size_t i) {
    return vec(Terrain::spacing * static_cast<double>(i), terrain.heights[i]);
  };
  // From the right to the left: the solver of Box2D 2.3 takes the lines that a body
  // touches from the newest to the oldest, that of 2.4 from the oldest to the newest.
  for (std::size_t i = terrain.heights.size() - 1; i > 0; --i) {
    b2EdgeShape edge;
    edge.SetTwoSided(point(i - 1), point(i));
    add(edge);
  }
  for (auto box = terrain.boxes.rbegin(); box != terrain.boxes.rend(); ++box) {
    const std::array points{vec(box->left, box->bottom), vec(box->right, box->bottom),
                            vec(box->right, box->top), vec(box->left, box->top)};
    b2PolygonShape polygon;
    polygon.Set(points.data(), static_cast<int>(points.size()));
    add(polygon);
  }
}

void World::make_hull(double push) {
  constexpr std::array<std::array<double, 2>, 5> outline{
    {{-30, 9}, {6, 9}, {34, 1}, {34, -8}, {-30, -8}}};
  std::array<b2Vec2, outline.size()> points;
  for (std::size_t i = 0; i < points.size(); ++i)
    points[i] = vec(outline[i][0] / scale, outline[i][1] / scale);
  b2PolygonShape shape;
  shape.Set(points.data(), static_cast<int>(points.size()));
  b2BodyDef body;
  body.type = b2_dynamicBody;
  body.position = vec(start_x, start_y);
  hull_ = world_.CreateBody(&body);
  const auto fixture = walker_fixture(shape, 5, 0.1F);
  hull_->CreateFixture(&fixture);
  hull_->ApplyForceToCenter(vec(push, 0), true);
}

b2Body* World::make_limb(double half_width, double y, int side) {
  b2PolygonShape box;
  box.SetAsBox(static_cast<float>(half_width), static_cast<float>(leg_length / 2));
  b2BodyDef def;
  def.type = b2_dynamicBody;
  def.position = vec(start_x, y);
  def.angle = static_cast<float>(side * 0.05);
  b2Body* limb = world_.CreateBody(&def);
  const auto fixture = walker_fixture(box, 1, 0.2F);
  limb->CreateFixture(&fixture);
  return limb;
}

World::Leg World::make_leg(int side) {
  const auto join = [this](b2Body* above, double y, b2Body* below, double lower,
                           double upper, int speed) {
    b2RevoluteJointDef def;
    def.bodyA = above;
    def.bodyB = below;
    def.localAnchorA = vec(0, y);
    def.localAnchorB = vec(0, leg_length / 2);
    def.referenceAngle = below->GetAngle() - above->GetAngle(); // Gymnasium's angle 0.
    def.enableMotor = true;
    def.maxMotorTorque = motor_torque;
    def.motorSpeed = static_cast<float>(speed);
    def.enableLimit = true;
    def.lowerAngle = static_cast<float>(lower);
    def.upperAngle = static_cast<float>(upper);
    return std::make_unique<RevoluteJoint>(world_, def);
  };
  Leg leg;
  leg.upper = make_limb(leg_width / 2, start_y - leg_length / 2 - hip_y, side);
  leg.hip = join(hull_, hip_y, leg.upper, -0.8, 1.1, side);
  leg.lower = make_limb(0.8 * leg_width / 2, start_y - leg_length * 3 / 2 - hip_y, side);
  leg.knee = join(leg.upper, -leg_length / 2, leg.lower, -1.6, -0.1, 1);
  return leg;
}

Step World::step(const std::array<float, 4>& action) {
  double torque = 0;
  for (const double one : action)
    torque += std::min(std::abs(one), 1.0);
  for (std::size_t i = 0; i < legs_.size(); ++i) {
    drive(*legs_[i].hip, hip_speed, action[2 * i]);
    drive(*legs_[i].knee, knee_speed, action[2 * i + 1]);
  }
  world_.Step(static_cast<float>(1 / fps), 6 * 30, 2 * 30);
  measure_distances();

  const double x = hull_->GetPosition().x;
  const double potential = 130 * x / scale - 5.0 * std::abs(double{hull_->GetAngle()});
  Step result{.reward = potential - potential_ - 0.00035 * motor_torque * torque};
  potential_ = potential;
  if (fallen_ || x < 0)
    result = {.reward = -100, .terminated = true};
  if (x > goal_x)
    result.terminated = true;
  return result;
}

void World::measure_distances() {
  const auto& from = hull_->GetPosition();
  for (std::size_t i = 0; i < rays; ++i) {
    NearestGround nearest;
    world_.RayCast(&nearest, from, ray_end(from, i, 1));
    distances_[i] = nearest.distance;
  }
}

void World::observe(std::span<float> out) const {
  const auto& speed = hull_->GetLinearVelocity();
  std::size_t i = 0;
  const auto put = [&](double value) { out[i++] = static_cast<float>(value); };
  put(hull_->GetAngle());
  put(2.0 * hull_->GetAngularVelocity() / fps);
  put(0.3 * speed.x * width / fps);
  put(0.3 * speed.y * height / fps);
  for (const auto& leg : legs_) {
    put(leg.hip->GetJointAngle());
    put(leg.hip->GetJointSpeed() / hip_speed);
    put(leg.knee->GetJointAngle() + 1.0);
    put(leg.knee->GetJointSpeed() / knee_speed);
    put(leg.on_ground ? 1 : 0);
  }
  for (const auto distance : distances_)
    put(distance);
}

Image World::render() const {
  using namespace draw;
  const auto& middle = hull_->GetPosition();
  const double left = middle.x - width / 5; // More is to be seen in front of it.
  Canvas canvas(300, 200, 15, left, 0);
  ground(canvas, world_, 0);
  for (std::size_t i = 0; i < rays; ++i) {
    const auto end = ray_end(middle, i, distances_[i]);
    canvas.line({middle.x, middle.y}, {end.x, end.y}, 0.03, red);
  }
  const auto leg = [&](std::size_t i, Color color) {
    body(canvas, *legs_[i].upper, color);
    body(canvas, *legs_[i].lower, color);
  };
  leg(0, ink);
  body(canvas, *hull_, blue);
  leg(1, orange);
  return canvas.image();
}

void World::BeginContact(b2Contact* contact) {
  fallen_ = fallen_ || involves(*contact, hull_);
  for (auto& leg : legs_)
    if (involves(*contact, leg.lower))
      leg.on_ground = true;
}

void World::EndContact(b2Contact* contact) {
  for (auto& leg : legs_)
    if (involves(*contact, leg.lower))
      leg.on_ground = false; // Also if it still touches another line, as in Gymnasium.
}

} // namespace fiber::rl::walker
