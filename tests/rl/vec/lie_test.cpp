// SPDX-License-Identifier: Apache-2.0
// The promise: what a job writes to the memory that it shares with the driver is data.
// Whatever is there, the driver stays within its rows, and goes on.

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "rl/vec/rows.hpp"
#include "tests/e2e/support/fixture.hpp"
#include "tests/rl/vec/puppet.hpp"

namespace fiber::rl::tests {
namespace {

class VecEnvLies : public e2e::SessionTest {};

/// The memory that the only VecEnv of a process shares.
std::unique_ptr<vec::Rows> rows_of(pid_t driver) {
  const auto process = "/proc/" + std::to_string(driver) + "/fd";
  for (const auto& entry : std::filesystem::directory_iterator(process)) {
    std::error_code error;
    if (std::filesystem::read_symlink(entry, error).string().find("fiber-vec-env") ==
        std::string::npos)
      continue;
    detail::SharedPlace place{.pid = driver,
                              .fd = std::stoi(entry.path().filename().string()),
                              .size = std::filesystem::file_size(entry)};
    std::ifstream(entry.path(), std::ios::binary)
      .read(reinterpret_cast<char*>(&place.tag), sizeof(place.tag));
    return vec::Rows::open(place);
  }
  throw std::runtime_error("no rows are shared");
}

/// Writes to all places that a job could write to, but for the orders.
void lie(vec::Rows& rows) {
  auto& meeting = rows.meeting();
  meeting.tag = {};
  meeting.shape = {~0UL, ~0UL, ~0UL, ~0UL};
  meeting.every_row = ~0U;
  meeting.bell = meeting.target = meeting.parked = meeting.cpu = ~0U;
  meeting.published.fetch_add(1'000'000);
  for (std::size_t job = 0; job < rows.shape().jobs; ++job)
    rows.door(job).cpu = rows.door(job).parked = ~0U;
  for (std::size_t id = 0; id < rows.shape().envs; ++id) {
    std::memset(static_cast<void*>(&rows.cell(id).facts), 0xff, sizeof(detail::RowFacts));
    std::memset(rows.action(id).data(), 0xff, rows.action(id).size_bytes());
    rows.set_error(id, std::string(vec::Rows::error_size, 'x'));
  }
}

/// An environment that may lie in the memory of this driver. The job still answers the
/// order that it has.
class Liar {
public:
  using Action = int;
  static constexpr int actions = 2;
  static constexpr std::size_t observation_size = 2;

  explicit Liar(int driver) : driver_(driver) {}
  void reset(std::uint64_t) { steps_ = 0; }
  Step step(Action lies) {
    ++steps_;
    if (lies != 0)
      lie(*rows_of(driver_));
    return {.reward = 3};
  }
  void observe(std::span<float> out) const {
    out[0] = out[1] = static_cast<float>(steps_);
  }

private:
  int driver_;
  int steps_ = 0;
};

TEST_F(VecEnvLies, harm_no_more_than_the_rows) {
  open();
  for (const bool replay : {false, true}) {
    VecEnv<Liar> envs({.envs = 3, .jobs = 1, .replay = replay}, ::getpid());
    ASSERT_TRUE(envs.shares_memory());
    envs.reset();
    const std::vector<int> honest = {0, 0, 0}, last_lies = {0, 0, 1};
    envs.step(honest);
    std::string text;
    try {
      envs.step(
        last_lies); // The rows of 0 and 1 were there, and say now that they failed.
    } catch (const std::runtime_error& error) {
      text = error.what();
    }
    // The driver may have taken a row before the lie, or look while that is written.
    const auto both = text.starts_with("environments 0, 1 failed: xxx") ||
                      text.find("; environment 1 failed: ") != std::string::npos;
    EXPECT_TRUE(both || text.empty() || text.starts_with("environment 0 failed: ") ||
                text.starts_with("environment 1 failed: "))
      << text;
    EXPECT_LT(text.size(), 3 * vec::Rows::error_size);
    if (!text.empty()) {
      const auto& rest = envs.recv();
      ASSERT_EQ(rest.size(), both ? 1U : 2U);
      const auto third = std::ranges::find(rest.env_ids, 2);
      ASSERT_NE(third, rest.env_ids.end());
      EXPECT_EQ(rest.rewards[static_cast<std::size_t>(third - rest.env_ids.begin())], 3);
    }
    envs.reset(std::vector<int>{0, 1});
    const auto& batch = envs.step(honest);
    ASSERT_EQ(batch.size(), 3U);
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(batch.valid[i], 1);
      EXPECT_EQ(batch.rewards[i], 3);
      EXPECT_EQ(batch.observation(i)[0], i == 2 ? 3 : 1);
    }
  }
}

} // namespace
} // namespace fiber::rl::tests
