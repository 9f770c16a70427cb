// SPDX-License-Identifier: Apache-2.0
// A ray meets a solid where MuJoCo says, and each robot can be seen.

#include <cmath>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "fiber/rl/environments.hpp"
#include "fiber/rl/random.hpp"
#include "rl/mujoco/simulation.hpp"
#include "rl/mujoco/solid.hpp"

namespace fiber::rl::mujoco {
namespace {

// Turned in space, so that its own axes matter.
std::string scene_of(const std::string& geom) {
  return "<mujoco><worldbody><body pos='0.3 -0.2 0.1' euler='20 50 -70'>" + geom +
         "</body></worldbody></mujoco>";
}

Vector random_vector(Random& random, double size) {
  return {random.uniform(-size, size), random.uniform(-size, size),
          random.uniform(-size, size)};
}

TEST(MujocoPictureTest, a_ray_meets_each_shape_where_mujoco_says) {
  for (const std::string geom :
       {"<geom type='sphere' size='0.5'/>", "<geom type='capsule' size='0.3 0.4'/>",
        "<geom type='cylinder' size='0.3 0.4'/>", "<geom type='box' size='0.3 0.4 0.5'/>",
        "<geom type='ellipsoid' size='0.3 0.4 0.5'/>"}) {
    SCOPED_TRACE(geom);
    Simulation simulation(compile(scene_of(geom), "scene"), "scene", 1);
    simulation.set({}, {});
    const Solid solid(simulation.model(), simulation.data(), 0);
    Random random(1);
    int hits = 0;
    for (int i = 0; i < 2000; ++i) {
      const Vector from = 3 * unit(random_vector(random, 1));
      const Ray ray{from, unit(random_vector(random, 0.7) - from)};
      const mjtNum point[3] = {from.x, from.y, from.z};
      const mjtNum along[3] = {ray.along.x, ray.along.y, ray.along.z};
      int id = -1;
      const double distance = mj_ray(&simulation.model(), &simulation.data(), point,
                                     along, nullptr, 1, -1, &id);
      Hit hit;
      ASSERT_EQ(solid.meet(ray, hit), distance >= 0);
      if (distance < 0)
        continue;
      ++hits;
      ASSERT_NEAR(hit.distance, distance, 1e-9);
      EXPECT_NEAR(dot(hit.normal, hit.normal), 1, 1e-9);
      EXPECT_LE(dot(hit.normal, ray.along), 0);
      EXPECT_TRUE(solid.may_meet(ray));
    }
    EXPECT_GT(hits, 200);
  }
}

/// The share of pixels that are no grey.
double colored(const Image& image) {
  std::size_t count = 0;
  for (std::size_t at = 0; at < image.rgb.size(); at += 3)
    count += std::abs(image.rgb[at] - image.rgb[at + 2]) > 30 ? 1u : 0u;
  return static_cast<double>(3 * count) / static_cast<double>(image.rgb.size());
}

std::size_t colors(const Image& image) {
  std::set<std::vector<std::uint8_t>> all;
  for (auto at = image.rgb.begin(); at != image.rgb.end(); at += 3)
    all.emplace(at, at + 3);
  return all.size();
}

TEST(MujocoPictureTest, each_robot_is_seen_in_colors_that_fit_into_a_gif) {
  for (const std::string name :
       {"inverted_pendulum", "inverted_double_pendulum", "reacher", "swimmer", "hopper",
        "half_cheetah", "walker2d", "ant", "humanoid"}) {
    SCOPED_TRACE(name);
    const auto robot = make_environment(name);
    robot->reset(1);
    const auto image = *robot->render();
    ASSERT_EQ(image.rgb.size(), static_cast<std::size_t>(3 * image.width * image.height));
    EXPECT_GT(colored(image), 0.002);
    EXPECT_LT(colored(image), 0.3);
    EXPECT_LT(colors(image), 200u);
    for (int step = 0; step < 3; ++step)
      robot->step(std::vector<float>(robot->spaces().action_size(), 0.4f));
    EXPECT_NE(robot->render()->rgb, image.rgb);
  }
}

} // namespace
} // namespace fiber::rl::mujoco
