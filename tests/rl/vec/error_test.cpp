// SPDX-License-Identifier: Apache-2.0
// The promise: with OnError::new_episode an exception of an environment costs its episode
// and nothing else; it is counted and told. One that always throws is an error.

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "tests/e2e/support/fixture.hpp"
#include "tests/rl/vec/puppet.hpp"

namespace fiber::rl::tests {
namespace {

class VecEnvErrors : public e2e::SessionTest {};

using Floats = std::vector<float>;
using Ids = std::vector<int>;

VecEnvOptions forgiving(bool replay = false) {
  return {
    .envs = 4, .jobs = 2, .seed = 8, .replay = replay, .on_error = OnError::new_episode};
}

TEST_F(VecEnvErrors, cost_an_episode) {
  open();
  for (const auto way : all_ways) {
    for (const bool replay : {false, true}) {
      auto envs = vec_env<Puppet>(forgiving(replay), way);
      envs.reset();
      envs.step(Floats(4));
      EXPECT_EQ(envs.first_error(), "");
      const auto* batch = &envs.step(Floats{0, Puppet::fail, 0, 0});
      EXPECT_EQ(batch->valid[1], 0);
      EXPECT_EQ(batch->truncated[1], 1);
      EXPECT_EQ(batch->terminated[1], 0);
      EXPECT_EQ(batch->rewards[1], 0);
      EXPECT_EQ(batch->observation(1)[0], 0);
      const auto seed = batch->observation(1)[1];
      EXPECT_EQ(batch->valid[0], 1);
      EXPECT_EQ(batch->episode_length(0), 2);
      EXPECT_EQ(envs.errors(), 1U);
      EXPECT_EQ(envs.first_error(), "environment 1 failed: the string broke");
      const auto restored = envs.state(); // The episode that replaced the lost one.
      batch = &envs.step(Floats(4));
      EXPECT_EQ(batch->valid[1], 1);
      EXPECT_EQ(batch->episode_length(1), 1);
      EXPECT_EQ(batch->observation(1)[1], seed);
      batch = &envs.restore(restored);
      EXPECT_EQ(batch->observation(1)[1], seed);
      EXPECT_EQ(batch->episode_length(0), 2);
    }
  }
}

TEST_F(VecEnvErrors, cost_an_episode_when_rows_are_received) {
  open();
  for (const auto way : all_ways) {
    auto options = forgiving();
    options.batch = 2;
    auto envs = vec_env<Puppet>(options, way);
    envs.reset();
    envs.send(Floats{Puppet::fail, 0, Puppet::fail, 0}, Ids{0, 1, 2, 3});
    std::vector<int> invalid;
    for (int rows = 0; rows < 2; ++rows) {
      const auto& batch = envs.recv();
      ASSERT_EQ(batch.size(), 2U);
      for (std::size_t i = 0; i < 2; ++i)
        if (batch.valid[i] == 0)
          invalid.push_back(batch.env_ids[i]);
    }
    std::ranges::sort(invalid);
    EXPECT_EQ(invalid, (Ids{0, 2}));
    EXPECT_EQ(envs.in_flight(), 0U);
    EXPECT_EQ(envs.errors(), 2U);
  }
}

TEST_F(VecEnvErrors, count_as_an_end_of_the_episode_in_each_mode) {
  open();
  for (const auto way : all_ways) {
    VecEnvOptions options{.envs = 1,
                          .jobs = 1,
                          .autoreset = Autoreset::next_step,
                          .on_error = OnError::new_episode};
    auto next = vec_env<Puppet>(options, way);
    next.reset();
    EXPECT_EQ(next.step(Floats{Puppet::fail}).valid[0], 0);
    EXPECT_EQ(next.step(Floats{Puppet::fail}).episode_length(0), 0);
    EXPECT_EQ(next.step(Floats(1)).episode_length(0), 1);
    options.autoreset = Autoreset::disabled;
    auto disabled = vec_env<Puppet>(options, way);
    disabled.reset();
    EXPECT_EQ(disabled.step(Floats{Puppet::fail}).valid[0], 0);
    EXPECT_THROW(disabled.step(Floats(1)), std::logic_error);
    disabled.reset();
    EXPECT_EQ(disabled.step(Floats(1)).valid[0], 1);
  }
}

/// Can't begin every other episode, or any if it is told so.
template <bool never>
class Reluctant {
public:
  using Action = int;
  static constexpr int actions = 2;
  static constexpr std::size_t observation_size = 1;
  void reset(std::uint64_t seed) {
    if (never || seed == episode_seed(8, 1, 0) || seed == episode_seed(8, 1, 2))
      throw std::runtime_error("no such level");
    seed_ = seed % 1'000'000;
  }
  Step step(Action action) { return {.reward = 1, .terminated = action == 1}; }
  void observe(std::span<float> out) const { out[0] = static_cast<float>(seed_); }

private:
  std::uint64_t seed_ = 0;
};

TEST_F(VecEnvErrors, in_a_reset_lead_to_another_seed) {
  open();
  for (const auto way : all_ways) {
    auto envs = vec_env<Reluctant<false>>(forgiving(), way);
    const auto* batch = &envs.reset();
    EXPECT_EQ(batch->valid[1], 1);
    EXPECT_EQ(batch->truncated[1], 0);
    EXPECT_EQ(batch->observation(1)[0], shown_seed(8, 1, 1));
    batch = &envs.step(Floats{0, 1, 0, 0}); // The next one can't begin.
    EXPECT_EQ(batch->valid[1], 0);
    EXPECT_EQ(batch->observation(1)[0], shown_seed(8, 1, 3));
    EXPECT_EQ(envs.errors(), 2U);
  }
}

template <class F>
std::string error_of(F call) {
  try {
    call();
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "nothing";
}

TEST_F(VecEnvErrors, in_each_reset_end_with_an_error) {
  open();
  for (const auto way : all_ways) {
    auto envs = vec_env<Reluctant<true>>(forgiving(), way);
    for (const std::size_t errors : {40, 80}) { // Each call counts anew.
      const auto text = error_of([&] { envs.reset(); });
      EXPECT_EQ(text, "environments 0, 1, 2, 3 failed: no such level\nThat was error 10 "
                      "in a row without a step that ended well in between, so no further "
                      "episode was begun (on_error)");
      EXPECT_EQ(envs.errors(), errors);
    }
  }
}

TEST_F(VecEnvErrors, in_each_step_end_with_an_error) {
  open();
  for (const auto way : all_ways) {
    auto envs = vec_env<Puppet>(forgiving(), way);
    envs.reset();
    auto fail = [&] { envs.step(Floats{0, 0, Puppet::fail, 0}); };
    for (int step = 0; step < 9; ++step)
      fail();
    envs.step(Floats(4)); // From here on the errors count anew.
    for (int step = 0; step < 9; ++step)
      fail();
    EXPECT_TRUE(error_of(fail).starts_with("environment 2 failed: the string broke\n"));
    envs.recv();
    envs.reset(Ids{2}); // From here on, again.
    for (int step = 0; step < 9; ++step)
      fail();
    EXPECT_EQ(envs.step(Floats(4)).valid[2], 1);
  }
}

TEST_F(VecEnvErrors, are_a_series_of_the_report) {
  const auto file = folder() / "report.html";
  open({.report = file.string()});
  auto envs = vec_env<Puppet>(forgiving(), Way::here);
  envs.reset();
  envs.step(Floats{0, Puppet::fail, 0, 0});
  close();
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  EXPECT_NE(text.str().find("environment errors"), std::string::npos);
}

} // namespace
} // namespace fiber::rl::tests
