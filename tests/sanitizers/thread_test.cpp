// SPDX-License-Identifier: Apache-2.0
// ThreadSanitizer sees what actors and jobs do: a race in their handlers, or tasks, is
// reported, with the suppressions of all tests; what actors send to each other is none.
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/examples/program.hpp"

namespace {

constexpr int code_of_reports = 66;

struct Outcome {
  std::string output;
  int code = 0;
};

/// The reports come with the output, not into a file.
Outcome run(std::vector<std::string> command) {
  ::setenv("TSAN_OPTIONS", "suppressions='" SUPPRESSIONS "'", 1);
  Program program(std::move(command));
  auto output = program.rest();
  return {std::move(output), program.wait()};
}

} // namespace

TEST(ThreadSanitizer, reports_a_race_of_two_actors) {
  auto [output, code] = run({RACING_ACTORS, "shared"});
  EXPECT_EQ(code, code_of_reports) << output;
  EXPECT_NE(output.find("WARNING: ThreadSanitizer: data race"), std::string::npos)
    << output;
  EXPECT_NE(output.find("racing_actors.cpp"), std::string::npos) << output;
}

TEST(ThreadSanitizer, is_quiet_about_what_actors_send_to_each_other) {
  auto [output, code] = run({RACING_ACTORS, "own"});
  EXPECT_EQ(code, 0) << output;
  EXPECT_EQ(output, "1000\n");
}

TEST(ThreadSanitizer, reports_a_race_of_two_workers_in_a_job) {
  auto [output, code] = run({RACING_TASKS});
  EXPECT_NE(output.find("WARNING: ThreadSanitizer: data race"), std::string::npos)
    << output;
  EXPECT_NE(output.find("racing_tasks.cpp"), std::string::npos) << output;
}
