// SPDX-License-Identifier: Apache-2.0
// The promise: if the exit code of a process can't be known, no code is reported in its
// place.
#include <csignal>
#include <optional>
#include <string>
#include <vector>

#include <fiber/fiber.hpp>
#include <gtest/gtest.h>

#include "tests/e2e/support/fixture.hpp"

namespace fiber::e2e {
namespace {

using fiber::Process; // Not that of processes.hpp.

class UnknownExit : public SessionTest {
protected:
  /// Kills the parent of the jobs, which alone sees how they end.
  void kill_zygote() {
    auto parent = zygote(mark());
    ASSERT_GT(parent, 0);
    kill(parent, SIGKILL);
    ASSERT_TRUE(wait_until([&] { return !lives(parent); }));
  }
};

TEST_F(UnknownExit, of_a_process_is_no_exit_code) {
  open({.backend = "local"});
  Process process([] { note_and_wait("runs"); });
  process.start();
  auto pid = static_cast<pid_t>(noted("runs"));
  ASSERT_GT(pid, 0);
  kill_zygote();
  EXPECT_TRUE(process.is_alive());
  kill(pid, SIGKILL);
  process.join();
  EXPECT_FALSE(process.is_alive());
  EXPECT_EQ(process.exit_code(), std::nullopt);
}

TEST_F(UnknownExit, of_a_future_is_none_of_the_exits_of_its_error) {
  open({.backend = "local"});
  auto result = async([] { note_and_wait("runs"); });
  auto pid = static_cast<pid_t>(noted("runs"));
  ASSERT_GT(pid, 0);
  kill_zygote();
  kill(pid, SIGKILL);
  try {
    result.get();
    FAIL() << "nothing was thrown";
  } catch (const WorkerLost& lost) {
    EXPECT_EQ(lost.exits(), std::vector<std::optional<int>>{std::nullopt});
    EXPECT_NE(std::string(lost.what()).find("(exit unknown)"), std::string::npos)
      << lost.what();
  }
}

} // namespace
} // namespace fiber::e2e
