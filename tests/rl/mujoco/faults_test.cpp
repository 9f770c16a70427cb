// SPDX-License-Identifier: Apache-2.0
// What goes wrong in MuJoCo becomes an exception that names the environment and the step;
// nothing ends the process, and no state is reset in silence.

#include <array>
#include <clocale>
#include <cmath>
#include <filesystem>
#include <functional>
#include <limits>
#include <locale>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "fiber/rl/mujoco.hpp"
#include "rl/mujoco/simulation.hpp"
#include "tests/locale/comma_locale.hpp"

namespace fiber::rl {
namespace {

template <class Error>
std::string error_of(const std::function<void()>& act) {
  try {
    act();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

void expect_all(const std::string& text, const std::vector<std::string>& parts) {
  for (const auto& part : parts)
    EXPECT_NE(text.find(part), std::string::npos) << part << " is not in: " << text;
}

TEST(MujocoFaultsTest, physics_that_diverges_names_environment_step_and_joint) {
  Hopper hopper;
  hopper.reset(1);
  hopper.step({0, 0, 0});
  const std::array<double, 6> positions{0, 1.25, 0, 0, 0, 0};
  std::array<double, 6> velocities{};
  velocities[4] = 1e9; // The knee.
  hopper.set_state(positions, velocities);
  const auto words = error_of<std::domain_error>([&] {
    for (int step = 0; step < 100; ++step)
      hopper.step({1, 1, 1});
  });
  expect_all(words,
             {"hopper: the physics diverged in step ", " of joint ", Hopper::physics()});
  hopper.reset(2); // The next episode is not concerned.
  EXPECT_NO_THROW(hopper.step({0, 0, 0}));
}

TEST(MujocoFaultsTest, an_action_that_is_not_finite_is_refused) {
  Hopper hopper;
  hopper.reset(1);
  const auto words = error_of<std::invalid_argument>([&] {
    hopper.step({0, std::numeric_limits<float>::quiet_NaN(), 0});
  });
  expect_all(words, {"hopper: number 1 of the action of step 1 is not finite"});
}

TEST(MujocoFaultsTest, a_state_of_another_size_is_refused) {
  Hopper hopper;
  const std::array<double, 5> five{};
  expect_all(error_of<std::invalid_argument>([&] { hopper.set_state(five, five); }),
             {"hopper", "6 positions and 6 velocities, not 5 and 5"});
}

TEST(MujocoFaultsTest, nothing_can_be_done_before_the_first_reset) {
  Ant ant;
  std::vector<float> seen(105);
  EXPECT_THROW(ant.step({}), std::logic_error);
  EXPECT_THROW(ant.observe(seen), std::logic_error);
  EXPECT_THROW(ant.render(), std::logic_error);
}

TEST(MujocoFaultsTest, an_error_inside_mujoco_is_an_exception) {
  std::string xml =
    "<mujoco><size nstack='300'/><worldbody><geom type='plane' size='9 9 1'/>";
  for (int i = 0; i < 4; ++i)
    xml +=
      "<body pos='" + std::to_string(3 * i) +
      " 0 5'><joint type='slide' axis='0 0 1'/><geom type='box' size='1 1 1'/></body>";
  mujoco::Simulation simulation(mujoco::compile(xml + "</worldbody></mujoco>", "boxes"),
                                "boxes", 1);
  const std::array<double, 4> on_the_ground{-4.1, -4.1, -4.1, -4.1}, at_rest{};
  expect_all(
    error_of<std::runtime_error>([&] { simulation.set(on_the_ground, at_rest); }),
    {"MuJoCo: ", "tack"}); // Its stack overflows.
}

TEST(MujocoFaultsTest, contacts_that_do_not_fit_are_an_error) {
  std::string xml = "<mujoco><size nconmax='8'/><worldbody><geom type='plane' size='9 9 "
                    "1'/>";
  for (int i = 0; i < 4; ++i)
    xml += "<body pos='" + std::to_string(3 * i) +
           " 0 0.9'><freejoint/><geom type='box' size='1 1 1'/></body>";
  mujoco::Simulation simulation(mujoco::compile(xml + "</worldbody></mujoco>", "boxes"),
                                "boxes", 1);
  const auto words = error_of<std::runtime_error>([&] {
    for (int step = 1; step < 10; ++step)
      simulation.act({}, step, false);
  });
#if mjVERSION_HEADER < 230 // Later versions take no notice of nconmax.
  expect_all(words, {"boxes: MuJoCo had no room for all contacts in step 1", "nconmax"});
#endif
}

TEST(MujocoFaultsTest, models_are_read_in_each_locale) {
  const test::CommaLocale locale;
  const auto before = std::locale().name();
  EXPECT_NO_THROW(mujoco::compile(
    "<mujoco><worldbody><geom pos='0.5 1.5 0' type='sphere' size='0.25'/></worldbody>"
    "</mujoco>",
    "sphere"));
  EXPECT_EQ(std::locale().name(), before);
  EXPECT_EQ(std::localeconv()->decimal_point, std::string(","));
}

TEST(MujocoFaultsTest, warnings_write_no_file) {
  const auto log = std::filesystem::path("MUJOCO_LOG.TXT");
  std::filesystem::remove(log);
  Hopper hopper;
  const std::array<double, 6> positions{0, 1.25, 0, 0, 0, 0};
  const std::array<double, 6> velocities{1e11, 0, 0, 0, 0, 0};
  hopper.set_state(positions, velocities);
  EXPECT_THROW(hopper.step({0, 0, 0}), std::domain_error);
  EXPECT_FALSE(std::filesystem::exists(log));
}

std::vector<float> rows_of(Humanoid robot, std::uint64_t seed) {
  std::vector<float> rows, seen(robot.spaces().observation_size());
  robot.reset(seed);
  for (int step = 0; step < 20; ++step) {
    Humanoid::Action action;
    for (std::size_t i = 0; i < action.size(); ++i)
      action[i] = 0.4f * static_cast<float>(std::sin(static_cast<double>(i) + step));
    robot.step(action);
    robot.observe(seen);
    rows.insert(rows.end(), seen.begin(), seen.end());
  }
  return rows;
}

TEST(MujocoFaultsTest, a_seed_and_actions_give_the_same_rows) {
  Humanoid used;
  used.reset(5);
  used.step({});
  const auto rows = rows_of(Humanoid(), 1);
  EXPECT_EQ(rows, rows_of(std::move(used), 1));
  EXPECT_NE(rows, rows_of(Humanoid(), 2));
}

} // namespace
} // namespace fiber::rl
