// SPDX-License-Identifier: Apache-2.0
// Every environment of a name has a picture, which changes with its state.

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "fiber/rl/acrobot.hpp"
#include "fiber/rl/breakout.hpp"
#include "fiber/rl/cartpole.hpp"
#include "fiber/rl/environments.hpp"
#include "fiber/rl/mountain_car_continuous.hpp"
#include "fiber/rl/pendulum.hpp"
#include "rl/env/canvas.hpp"
#include "tests/rl/env/possible_action.hpp"

namespace fiber::rl {
namespace {

bool has(const Image& image, int x, int y, draw::Color color) {
  const auto* at =
    image.rgb.data() + 3 * (static_cast<std::ptrdiff_t>(y) * image.width + x);
  return at[0] == color.red && at[1] == color.green && at[2] == color.blue;
}

// As the program starts, before other tests register more.
const auto own_names = environment_names();

TEST(RenderTest, every_named_environment_has_a_picture_that_follows_its_state) {
  for (const auto& name : own_names) {
    SCOPED_TRACE(name);
    auto environment = make_environment(name);
    environment->reset(1);
    const auto before = environment->render();
    ASSERT_TRUE(before.has_value());
    EXPECT_GE(before->width, 240);
    EXPECT_LE(before->width, 600);
    EXPECT_EQ(before->rgb.size(), std::size_t{3} *
                                    static_cast<std::size_t>(before->width) *
                                    static_cast<std::size_t>(before->height));
    EXPECT_TRUE(environment->render() == before) << "rendering changes the state";
    bool over = false;
    for (int i = 0; i < 20 && !over; ++i)
      over = environment->step(possible_action(*environment, 1)).terminated;
    EXPECT_FALSE(environment->render() == before);
  }
}

// Points that follow from the geometry in each environment's documentation.
TEST(RenderTest, the_cart_stands_where_its_position_is_and_its_pole_leans) {
  CartPole cartpole;
  cartpole.set_state({1, 0, 0.5, 0});
  const auto image = cartpole.render();
  EXPECT_TRUE(has(image, 252, 182 - 42 - 14, draw::ink));         // (1, 0.2)
  EXPECT_FALSE(has(image, 182, 182 - 42 - 14, draw::ink));        // (0, 0.2)
  EXPECT_TRUE(has(image, 252 + 30, 182 - 42 - 80, draw::orange)); // Near the tip.
  EXPECT_FALSE(has(image, 252 - 30, 182 - 42 - 80, draw::orange));
}

TEST(RenderTest, the_pendulum_points_up_at_0_and_to_the_left_at_a_quarter) {
  Pendulum pendulum;
  pendulum.set_state({0, 0});
  EXPECT_TRUE(has(pendulum.render(), 130, 40, draw::red));
  pendulum.set_state({1.5707963267948966, 0});
  EXPECT_TRUE(has(pendulum.render(), 40, 130, draw::red));
}

TEST(RenderTest, the_acrobot_hangs_down_at_0) {
  Acrobot acrobot;
  acrobot.set_state({0, 0, 0, 0});
  EXPECT_TRUE(has(acrobot.render(), 143, 143 + 30, draw::blue));
  EXPECT_TRUE(has(acrobot.render(), 143, 143 + 120, draw::orange));
  acrobot.set_state({1.5707963267948966, 0, 0, 0});
  EXPECT_TRUE(has(acrobot.render(), 143 + 120, 143, draw::orange));
}

TEST(RenderTest, the_car_stands_on_the_slope) {
  MountainCarContinuous car;
  car.set_state({-0.5235988f, 0}); // The bottom: height 0.1, level.
  EXPECT_TRUE(has(car.render(), 135, 240 - 20 - 13, draw::blue));
  EXPECT_FALSE(has(car.render(), 235, 240 - 20 - 13, draw::blue));
}

struct Blind : CartPole {
  Image render() const = delete;
};

TEST(RenderTest, an_environment_without_a_picture_gives_nothing) {
  EXPECT_EQ(erase<Blind>()->render(), std::nullopt);
}

} // namespace
} // namespace fiber::rl
