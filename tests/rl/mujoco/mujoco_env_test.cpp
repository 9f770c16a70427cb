// SPDX-License-Identifier: Apache-2.0
// A robot of a program's own: what its class says is what an episode does, and a model
// that is wrong is refused with MuJoCo's words.

#include "fiber/rl/mujoco_env.hpp"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "fiber/rl/vec_env.hpp"

namespace fiber::rl {
namespace {

constexpr const char* cart_xml = R"(<mujoco>
  <worldbody>
    <geom type="plane" size="9 9 1"/>
    <body name="cart" pos="0 0 1">
      <joint name="rail" type="slide" axis="1 0 0"/>
      <geom type="box" size="0.2 0.1 0.1"/>
      <site name="mast" pos="0 0 0.5"/>
    </body>
  </worldbody>
  <actuator><motor name="wheel" joint="rail" ctrllimited="true" ctrlrange="-2 2" gear="200"/></actuator>
  <sensor><jointpos name="odometer" joint="rail"/></sensor>
</mujoco>)";

class Cart : public MujocoEnv<1> {
public:
  explicit Cart(MujocoModel model = {.xml = cart_xml, .frame_skip = 4, .step_limit = 100})
    : MujocoEnv(model) {}

  using MujocoTask::body_position;
  using MujocoTask::joint_position;
  using MujocoTask::joint_velocity;
  using MujocoTask::sensor;
  using MujocoTask::site_position;

private:
  double reward(std::span<const float> action) const override {
    return body_velocity("cart")[0] - 0.1 * action[0] * action[0];
  }
  bool terminated() const override { return joint_position("rail") > 0.5; }
};

std::string error_of(const MujocoModel& model);

TEST(MujocoEnvTest, limits_that_make_no_sense_are_refused) {
  EXPECT_EQ(error_of({.xml = cart_xml, .step_limit = 0}),
            "robot: step_limit must be at least 1, not 0");
  EXPECT_EQ(error_of({.xml = cart_xml, .start_noise = -1}),
            "robot: start_noise must be finite and at least 0");
}

std::string error_of(const MujocoModel& model) {
  try {
    const Cart cart(model);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "no error";
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(MujocoEnvTest, rewards_and_ends_are_those_of_the_class) {
  static_assert(Environment<Cart>);
  Cart cart;
  const auto spaces = cart.spaces();
  EXPECT_EQ(spaces.observation_size(), 2u);
  EXPECT_EQ(spaces.action_low, std::vector<float>{-2});
  EXPECT_EQ(spaces.action_high, std::vector<float>{2});
  cart.reset(1);
  int steps = 0;
  for (Step step; !step.terminated; ++steps) {
    const double before = cart.joint_position("rail");
    step = cart.step({1});
    EXPECT_NEAR(step.reward, (cart.joint_position("rail") - before) / 0.008 - 0.1, 1e-9);
    ASSERT_FALSE(step.truncated);
  }
  EXPECT_GT(steps, 3);
  EXPECT_GT(cart.joint_velocity("rail"), 0);
  EXPECT_NEAR(cart.sensor("odometer")[0], cart.joint_position("rail"), 0.1);
  EXPECT_NEAR(cart.site_position("mast")[2] - cart.body_position("cart")[2], 0.5, 1e-12);
  EXPECT_FALSE(cart.render().rgb.empty());
}

TEST(MujocoEnvTest, an_episode_ends_at_the_step_limit) {
  Cart cart({.xml = cart_xml, .step_limit = 3});
  cart.reset(1);
  EXPECT_FALSE(cart.step({0}).truncated);
  EXPECT_FALSE(cart.step({0}).truncated);
  EXPECT_TRUE(cart.step({0}).truncated);
}

TEST(MujocoEnvTest, many_of_them_step_together) {
  VecEnv<Cart> envs({.envs = 3, .jobs = 0, .seed = 4});
  const auto first = envs.reset().observations;
  EXPECT_EQ(first.size(), 6u);
  EXPECT_NE(first[0], first[2]);
}

TEST(MujocoEnvTest, a_broken_model_is_refused_with_mujocos_words_and_line) {
  const auto error =
    error_of({.xml = "<mujoco>\n<worldbody>\n<geom typ='box'/>\n</worldbody></mujoco>"});
  EXPECT_TRUE(has(error, "robot: MuJoCo cannot compile this model: ")) << error;
  EXPECT_TRUE(has(error, "unrecognized attribute: 'typ'")) << error;
  EXPECT_TRUE(has(error, "line 3")) << error;
  EXPECT_TRUE(has(error_of({.xml = "<mujoco><"}), "cannot compile"));
}

TEST(MujocoEnvTest, a_file_is_read_and_a_broken_one_named) {
  const auto file = std::filesystem::path(testing::TempDir()) / "cart_of_a_test.xml";
  std::ofstream(file) << cart_xml;
  EXPECT_EQ(error_of({.file = file}), "no error");
  std::ofstream(file) << "<mujoco><body/></mujoco>";
  EXPECT_TRUE(has(error_of({.file = file}), file.string() + ": MuJoCo cannot compile"));
  std::filesystem::remove(file);
  EXPECT_EQ(error_of({.file = file}), "there is no model " + file.string());
}

TEST(MujocoEnvTest, a_model_that_does_not_fit_its_class_is_refused) {
  const std::string one = cart_xml;
  auto none = one, unbounded = one;
  none.replace(none.find("<actuator>"), none.find("<sensor>") - none.find("<actuator>"),
               "");
  unbounded.replace(unbounded.find("ctrllimited"), 36, "");
  EXPECT_TRUE(has(error_of({.xml = none}), "has 0 motors")) << error_of({.xml = none});
  EXPECT_TRUE(has(error_of({.xml = unbounded}), "motor 0 (wheel) needs bounds"))
    << error_of({.xml = unbounded});
  EXPECT_TRUE(has(error_of({.xml = one, .frame_skip = 0}), "frame_skip is 0"));
  EXPECT_TRUE(has(error_of({}), "either a file or an xml"));
}

TEST(MujocoEnvTest, an_unknown_name_gets_those_there_are) {
  Cart cart;
  cart.reset(1);
  try {
    cart.joint_position("wheel");
    FAIL();
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(error.what(), "robot has no joint wheel; there are rail");
  }
  EXPECT_THROW(cart.sensor("speed"), std::invalid_argument);
}

} // namespace
} // namespace fiber::rl
