// SPDX-License-Identifier: Apache-2.0
// The classic environments are Gymnasium's: from the same state the same action leads to
// the same state, observation, reward and end. fixtures/*.csv were recorded by
// record_gymnasium.py, whose first lines explain the format.

#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "fiber/detail/classic_locale.hpp"
#include "fiber/rl/acrobot.hpp"
#include "fiber/rl/cartpole.hpp"
#include "fiber/rl/mountain_car_continuous.hpp"
#include "fiber/rl/pendulum.hpp"

namespace fiber::rl {
namespace {

// Two libraries' sines may differ in the last bit.
constexpr double last_digits = 1e-13;

using Row = std::vector<std::string>;

std::vector<Row> rows_of(const std::string& name) {
  const std::string path = std::string(FIBER_RL_FIXTURES) + "/" + name + ".csv";
  fiber::detail::Classic<std::ifstream> file(path);
  std::vector<Row> rows;
  for (std::string line; std::getline(file, line);) {
    Row row;
    fiber::detail::Classic<std::istringstream> cells(line);
    for (std::string cell; std::getline(cells, cell, ',');)
      row.push_back(cell);
    rows.push_back(row);
  }
  if (rows.size() < 5)
    throw std::runtime_error("no trajectories in " + path);
  return rows;
}

template <class E>
typename E::State state_at(const Row& row, std::size_t column) {
  const fiber::detail::ClassicThread numbers;
  typename E::State state = {};
  for (std::size_t i = 0; i < state.size(); ++i) {
    if constexpr (std::same_as<typename E::State::value_type, float>)
      state[i] = std::stof(row.at(column + i));
    else
      state[i] = std::stod(row.at(column + i));
  }
  return state;
}

template <class E>
typename E::Action action_at(const Row& row) {
  const fiber::detail::ClassicThread numbers;
  if constexpr (std::same_as<typename E::Action, int>)
    return std::stoi(row.at(1));
  else
    return {std::stof(row.at(1))};
}

template <class E>
void expect_row(E& environment, const Row& row) {
  const fiber::detail::ClassicThread numbers;
  constexpr std::size_t first = 4;
  const auto result = environment.step(action_at<E>(row));
  EXPECT_NEAR(result.reward, std::stod(row.at(2)), last_digits);
  EXPECT_EQ(result.terminated, row.at(3) == "1");

  const auto golden = state_at<E>(row, first);
  for (std::size_t i = 0; i < golden.size(); ++i) {
    if constexpr (std::same_as<typename E::State::value_type, float>)
      EXPECT_EQ(environment.state()[i], golden[i]) << "component " << i;
    else
      EXPECT_NEAR(environment.state()[i], golden[i], last_digits) << "component " << i;
  }
  // Goes on from Gymnasium's state, so that no difference of one step grows in the next.
  environment.set_state(golden);

  std::array<float, E::observation_size> seen = {};
  environment.observe(seen);
  ASSERT_EQ(row.size(), first + golden.size() + seen.size());
  for (std::size_t i = 0; i < seen.size(); ++i)
    EXPECT_EQ(seen[i], std::stof(row[first + golden.size() + i])) << "observation " << i;
}

template <class E>
void expect_trajectories(const std::string& name) {
  E environment;
  int steps = 0;
  for (const auto& row : rows_of(name)) {
    SCOPED_TRACE(name + ".csv, step " + std::to_string(steps));
    if (row[0] == "limit") {
      EXPECT_EQ(E::step_limit, std::stoi(row.at(1)));
    }
    if (row[0] == "start")
      environment.set_state(state_at<E>(row, 1));
    if (row[0] == "step" && row.at(1) != "action") {
      ASSERT_NO_FATAL_FAILURE(expect_row(environment, row));
      ++steps;
    }
  }
  EXPECT_GT(steps, 100);
}

TEST(GymnasiumTest, cartpole_follows_it) {
  expect_trajectories<CartPole>("cartpole");
}

TEST(GymnasiumTest, pendulum_follows_it) {
  expect_trajectories<Pendulum>("pendulum");
}

TEST(GymnasiumTest, acrobot_follows_it) {
  expect_trajectories<Acrobot>("acrobot");
}

TEST(GymnasiumTest, mountain_car_continuous_follows_it_to_the_bit) {
  expect_trajectories<MountainCarContinuous>("mountain_car_continuous");
}

} // namespace
} // namespace fiber::rl
