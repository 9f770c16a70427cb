// SPDX-License-Identifier: Apache-2.0
// The promise: a wrong call is an error that names the environments, and changes nothing.
// What an environment throws reaches the caller with the environment's number.

#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "fiber/error.hpp"
#include "tests/e2e/support/fixture.hpp"
#include "tests/rl/vec/puppet.hpp"

namespace fiber::rl::tests {
namespace {

class VecEnvMisuse : public e2e::SessionTest {};

/// What `call` throws: the text of an `E`.
template <class E, class F>
std::string thrown(F call) {
  try {
    call();
  } catch (const E& error) {
    return error.what();
  }
  return "nothing";
}

using Floats = std::vector<float>;
using Ids = std::vector<int>;

TEST(VecEnvMisuseHere, names_options_that_cannot_be_used) {
  try {
    vec_env<Puppet>({.envs = 0}, Way::here);
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_EQ(error.key(), "envs");
  }
  try {
    vec_env<Puppet>({.envs = 4, .batch = 5}, Way::here);
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_EQ(error.key(), "batch");
    EXPECT_NE(error.valid().find("4"), std::string::npos);
  }
}

TEST(VecEnvMisuseHere, names_environments_in_calls_that_come_too_early) {
  auto envs = vec_env<Puppet>({.envs = 3, .batch = 2}, Way::here);
  EXPECT_EQ(thrown<std::logic_error>([&] { envs.step(Floats(3)); }),
            "environments 0, 1, 2 were never reset: call reset() before a step");
  envs.reset();
  EXPECT_EQ(thrown<std::logic_error>([&] { envs.recv(); }),
            "recv() has no row to return: no environment is in flight; send() comes "
            "first");
  envs.send(Floats(2), Ids{0, 2});
  EXPECT_EQ(thrown<std::logic_error>([&] {
              envs.send(Floats(2), Ids{1, 2});
            }),
            "environment 2 is in flight and can't take a step: recv() must return its "
            "row first");
  EXPECT_EQ(thrown<std::logic_error>([&] { envs.step(Floats(3)); }),
            "environments 0, 2 are in flight and can't take a step: recv() must return "
            "their rows first");
  EXPECT_EQ(thrown<std::logic_error>([&] { envs.reset(Ids{0}); }),
            "environment 0 is in flight and can't take a reset: recv() must return its "
            "row first");
  EXPECT_EQ(thrown<std::logic_error>([&] { envs.state(); }),
            "state() can't be used while environments 0, 2 are in flight");
  EXPECT_EQ(envs.recv().size(), 2U);
  EXPECT_EQ(envs.step(Floats(3)).episode_length(1), 1); // No refused call has stepped it.
}

TEST(VecEnvMisuseHere, names_environments_that_there_are_not) {
  auto envs = vec_env<Puppet>({.envs = 3}, Way::here);
  envs.reset();
  EXPECT_EQ(thrown<std::invalid_argument>([&] {
              envs.send(Floats(2), Ids{3, -1});
            }),
            "environments 3, -1 are not there; there are 0 to 2");
  EXPECT_EQ(thrown<std::invalid_argument>([&] {
              envs.reset(Ids{1, 1});
            }),
            "environment 1 is named twice");
}

TEST(VecEnvMisuseHere, names_what_is_wrong_with_actions) {
  auto envs = vec_env<Puppet>({.envs = 3}, Way::here);
  envs.reset();
  EXPECT_EQ(thrown<std::invalid_argument>([&] { envs.step(Floats(2)); }),
            "3 actions of 1 number are needed, one for each environment, and 2 numbers "
            "came");
  for (const float bad : {6.0F, -1.0F, 0.5F, std::numeric_limits<float>::quiet_NaN()})
    EXPECT_NE(thrown<std::invalid_argument>([&] {
                envs.step(Floats{0, 0, bad});
              }).find("the action of environment 2 is"),
              std::string::npos)
      << bad;
  EXPECT_EQ(envs.step(Floats(3)).episode_length(0), 1);
}

TEST(VecEnvMisuseHere, drops_rows_in_flight_at_a_reset) {
  auto envs = vec_env<Puppet>({.envs = 3}, Way::here);
  envs.reset();
  envs.send(Floats(2), Ids{0, 2});
  EXPECT_EQ(envs.reset().size(), 3U);
  EXPECT_EQ(envs.in_flight(), 0U);
  EXPECT_EQ(envs.step(Floats(3)).episode_length(2), 1);
}

TEST(VecEnvMisuseHere, names_environments_that_fail_alike_together) {
  auto envs = vec_env<Puppet>({.envs = 3}, Way::here);
  envs.reset();
  EXPECT_EQ(thrown<std::runtime_error>([&] {
              envs.step(Floats{Puppet::fail, 0, Puppet::fail});
            }),
            "environments 0, 2 failed: the string broke");
}

void expect_failure_is_told(AnyVecEnv& envs) {
  envs.reset();
  EXPECT_EQ(thrown<std::runtime_error>([&] {
              envs.step(Floats{0, Puppet::fail, 0, 0});
            }),
            "environment 1 failed: the string broke");
  EXPECT_EQ(envs.in_flight(), 3U); // The others have stepped.
  const auto& others = envs.recv();
  EXPECT_EQ(others.size(), 3U);
  EXPECT_EQ(others.episode_length(0), 1);
  EXPECT_EQ(thrown<std::logic_error>([&] { envs.step(Floats(4)); }),
            "environment 1 has failed and needs reset({1}) before a step; it said: the "
            "string broke");
  EXPECT_EQ(envs.reset(Ids{1}).observation(0)[0], 0);
  const auto& batch = envs.step(Floats(4));
  EXPECT_EQ(batch.episode_length(0), 2);
  EXPECT_EQ(batch.episode_length(1), 1);
}

TEST_F(VecEnvMisuse, tells_what_an_environment_throws_and_goes_on_after_its_reset) {
  open();
  for (const auto way : {Way::here, Way::shared_memory, Way::messages}) {
    auto envs = vec_env<Puppet>({.envs = 4, .jobs = 2}, way);
    expect_failure_is_told(envs);
  }
}

/// Can't be made.
class Broken {
public:
  using Action = int;
  static constexpr int actions = 2;
  static constexpr std::size_t observation_size = 1;
  Broken() { throw std::out_of_range("no such level"); }
  void reset(std::uint64_t) {}
  Step step(Action) { return {}; }
  void observe(std::span<float>) const {}
};

TEST_F(VecEnvMisuse, tells_why_environments_cannot_be_made) {
  EXPECT_EQ(thrown<std::out_of_range>([] { VecEnv<Broken> envs; }), "no such level");
  EXPECT_THROW(VecEnv<CartPole>({.envs = 2, .jobs = 2}), Closed); // There is no session.
  open();
  EXPECT_NE(thrown<RemoteError>([] {
              VecEnv<Broken> envs({.envs = 2, .jobs = 2});
            }).find("no such level"),
            std::string::npos);
}

} // namespace
} // namespace fiber::rl::tests
