// SPDX-License-Identifier: Apache-2.0
#include "rl/env/lunar_lander_world.hpp"

#include <cmath>
#include <utility>

#include "rl/env/world_picture.hpp"

namespace fiber::rl::lander {
namespace {

// Values and order of operations are Gymnasium's. It computes with doubles on what it
// reads from Box2D's floats, and so does this.
constexpr double scale = 30; // Pixels a metre.
constexpr double fps = 50;
constexpr int sleep_steps = 25;                             // Half a second.
constexpr double width = 600 / scale, height = 400 / scale; // Of the screen, in metres.
constexpr int chunks = 11;                                  // Hills are chunks - 1 lines.
constexpr double pad_y = height / 4;
constexpr double leg_away = 20 / scale, leg_down = 18 / scale;
constexpr double leg_half_width = 2 / scale, leg_half_height = 8 / scale;
constexpr float leg_spring_torque = 40;
constexpr double main_engine_power = 13, side_engine_power = 0.6;
constexpr double main_engine_below = 4 / scale;
constexpr double side_engine_away = 12 / scale;
// Two different numbers where one is meant, so the side engines' place depends on the
// angle.
constexpr double side_engine_x = 17 / scale, side_engine_y = 14 / scale;

constexpr uint16 ground_bit = 0x0001, lander_bit = 0x0010, leg_bit = 0x0020;

b2Vec2 vec(double x, double y) {
  return {static_cast<float>(x), static_cast<float>(y)};
}

bool involves(const b2Contact& contact, const b2Body* body) {
  return contact.GetFixtureA()->GetBody() == body ||
         contact.GetFixtureB()->GetBody() == body;
}

/// As Box2D sees it before it puts a body to sleep.
bool moves(const b2Body& body) {
  return body.GetLinearVelocity().LengthSquared() >
           b2_linearSleepTolerance * b2_linearSleepTolerance ||
         std::abs(body.GetAngularVelocity()) > b2_angularSleepTolerance;
}

} // namespace

World::World(const Start& start) : world_({0, -10}) {
  world_.SetContactListener(this);
  // What Box2D 2.4 takes for a new reason to stay awake is none in 2.3: rest is counted
  // here.
  world_.SetAllowSleeping(false);
  make_ground(start);
  make_lander(start);
  legs_[0] = make_leg(-1);
  legs_[1] = make_leg(+1);
  advance(); // A part of Gymnasium's reset.
}

void World::make_ground(const Start& start) {
  b2BodyDef body;
  b2Body* ground = world_.CreateBody(&body);
  const auto add = [ground](const b2Vec2& from, const b2Vec2& to, float friction) {
    b2EdgeShape edge;
    edge.SetTwoSided(from, to);
    b2FixtureDef fixture;
    fixture.shape = &edge;
    fixture.friction = friction;
    fixture.filter.categoryBits = ground_bit;
    ground->CreateFixture(&fixture);
  };

  auto heights = start.heights;
  for (int i = chunks / 2 - 2; i <= chunks / 2 + 2; ++i) // The pad, and a bit more.
    heights[static_cast<std::size_t>(i)] = pad_y;
  const auto point = [&](std::size_t i) {
    const double before = heights[(i + heights.size() - 1) % heights.size()];
    return vec(width / (chunks - 1) * static_cast<double>(i),
               0.33 * (before + heights[i] + heights[i + 1]));
  };
  // From the right to the left: the solver of Box2D 2.3 takes the lines that a body
  // touches from the newest to the oldest, that of 2.4 from the oldest to the newest.
  for (std::size_t i = chunks - 1; i > 0; --i)
    add(point(i - 1), point(i), 0.1F);
  add(vec(0, 0), vec(width, 0), 0.2F);
}

void World::make_lander(const Start& start) {
  constexpr std::array<std::array<double, 2>, 6> outline{
    {{-14, 17}, {-17, 0}, {-17, -10}, {17, -10}, {17, 0}, {14, 17}}};
  std::array<b2Vec2, outline.size()> points;
  for (std::size_t i = 0; i < points.size(); ++i)
    points[i] = vec(outline[i][0] / scale, outline[i][1] / scale);
  b2PolygonShape hull;
  hull.Set(points.data(), static_cast<int>(points.size()));

  b2BodyDef body;
  body.type = b2_dynamicBody;
  body.position = vec(width / 2, height);
  lander_ = world_.CreateBody(&body);
  b2FixtureDef fixture;
  fixture.shape = &hull;
  fixture.density = 5;
  fixture.friction = 0.1F;
  fixture.filter.categoryBits = lander_bit;
  fixture.filter.maskBits = ground_bit;
  lander_->CreateFixture(&fixture);
  lander_->ApplyForceToCenter(vec(start.force_x, start.force_y), true);
}

World::Leg World::make_leg(int side) {
  b2PolygonShape box;
  box.SetAsBox(static_cast<float>(leg_half_width), static_cast<float>(leg_half_height));
  b2BodyDef body;
  body.type = b2_dynamicBody;
  body.position = vec(width / 2 - side * leg_away, height);
  body.angle = static_cast<float>(side * 0.05);
  Leg leg;
  leg.body = world_.CreateBody(&body);
  b2FixtureDef fixture;
  fixture.shape = &box;
  fixture.density = 1;
  fixture.filter.categoryBits = leg_bit;
  fixture.filter.maskBits = ground_bit;
  leg.body->CreateFixture(&fixture);

  b2RevoluteJointDef joint;
  joint.bodyA = lander_;
  joint.bodyB = leg.body;
  joint.localAnchorB = vec(side * leg_away, leg_down);
  joint.referenceAngle =
    leg.body->GetAngle() - lander_->GetAngle(); // Gymnasium's angle 0.
  joint.enableMotor = true;                     // The spring.
  joint.maxMotorTorque = leg_spring_torque;
  joint.motorSpeed = static_cast<float>(0.3 * side);
  joint.enableLimit = true;
  joint.lowerAngle = side < 0 ? 0.4F : -0.9F;
  joint.upperAngle = side < 0 ? 0.9F : -0.4F;
  leg.joint = std::make_unique<RevoluteJoint>(world_, joint);
  return leg;
}

Step World::step(int action, std::array<double, 2> noise) {
  for (auto& shift : noise)
    shift /= scale;
  double fuel = 0;
  if (action == 2) {
    fire_main_engine(noise);
    fuel = 0.3;
  } else if (action != 0) {
    fire_side_engine(action - 2, noise);
    fuel = 0.03;
  }
  const double gain = advance();
  const auto seen = observation();
  Step result{.reward = gain - fuel};
  if (crashed_ || std::abs(seen[0]) >= 1)
    result = {.reward = -100, .terminated = true};
  if (steps_at_rest_ >= sleep_steps)
    result = {.reward = 100, .terminated = true};
  return result;
}

double World::advance() {
  world_.Step(static_cast<float>(1 / fps), 6 * 30, 2 * 30);

  ++steps_at_rest_;
  for (const auto* body : {lander_, legs_[0].body, legs_[1].body})
    if (moves(*body))
      steps_at_rest_ = 0;

  const auto seen = observation();
  const double potential = -100 * std::sqrt(seen[0] * seen[0] + seen[1] * seen[1]) -
                           100 * std::sqrt(seen[2] * seen[2] + seen[3] * seen[3]) -
                           100 * std::abs(seen[4]) + 10 * seen[6] + 10 * seen[7];
  return potential - std::exchange(potential_, potential);
}

void World::fire_main_engine(std::array<double, 2> noise) {
  const double angle = lander_->GetAngle();
  const double sine = std::sin(angle), cosine = std::cos(angle);
  const double down = main_engine_below + 2 * noise[0];
  const double x = sine * down - cosine * noise[1];
  const double y = -cosine * down - sine * noise[1];
  const auto& position = lander_->GetPosition();
  lander_->ApplyLinearImpulse(vec(-x * main_engine_power, -y * main_engine_power),
                              vec(position.x + x, position.y + y), true);
}

void World::fire_side_engine(int direction, std::array<double, 2> noise) {
  const double angle = lander_->GetAngle();
  const double sine = std::sin(angle), cosine = std::cos(angle);
  const double away = 3 * noise[1] + direction * side_engine_away;
  const double x = sine * noise[0] - cosine * away;
  const double y = -cosine * noise[0] - sine * away;
  const auto& position = lander_->GetPosition();
  lander_->ApplyLinearImpulse(
    vec(-x * side_engine_power, -y * side_engine_power),
    vec(position.x + x - sine * side_engine_x, position.y + y + cosine * side_engine_y),
    true);
}

std::array<double, 8> World::observation() const {
  const auto& position = lander_->GetPosition();
  const auto& speed = lander_->GetLinearVelocity();
  return {(position.x - width / 2) / (width / 2),
          (position.y - (pad_y + leg_down)) / (height / 2),
          speed.x * (width / 2) / fps,
          speed.y * (height / 2) / fps,
          lander_->GetAngle(),
          20.0 * lander_->GetAngularVelocity() / fps,
          legs_[0].on_ground ? 1.0 : 0.0,
          legs_[1].on_ground ? 1.0 : 0.0};
}

void World::observe(std::span<float> out) const {
  const auto seen = observation();
  for (std::size_t i = 0; i < seen.size(); ++i)
    out[i] = static_cast<float>(seen[i]);
}

Image World::render() const {
  using namespace draw;
  Canvas canvas(300, 200, 15, 0, 0);
  ground(canvas, world_, 0);
  for (const double x : {0.4 * width, 0.6 * width}) { // The flags of the pad.
    canvas.line({x, pad_y}, {x, pad_y + 1.4}, 0.08, ink);
    canvas.rectangle(x, pad_y + 1, x + 0.7, pad_y + 1.4, red);
  }
  for (const auto& leg : legs_)
    body(canvas, *leg.body, leg.on_ground ? orange : ink);
  body(canvas, *lander_, blue);
  return canvas.image();
}

void World::BeginContact(b2Contact* contact) {
  crashed_ = crashed_ || involves(*contact, lander_);
  for (auto& leg : legs_)
    if (involves(*contact, leg.body))
      leg.on_ground = true;
}

void World::EndContact(b2Contact* contact) {
  for (auto& leg : legs_)
    if (involves(*contact, leg.body))
      leg.on_ground = false; // Also if it still touches another line, as in Gymnasium.
}

} // namespace fiber::rl::lander
