// SPDX-License-Identifier: Apache-2.0
// What is logged in a job stands in the driver's log, once, with the names of job and
// task.
#include <regex.h>

#include <algorithm>
#include <sstream>
#include <stdexcept>
#include <utility>

#include <fiber/pool.hpp>
#include <fiber/this_task.hpp>

#include "base/log.hpp"
#include "tests/e2e/support/modes.hpp"

namespace fiber::e2e {
namespace {

std::size_t warn_of_5(std::size_t i) {
  if (i == 5)
    log().warn("careful");
  log().info("of no interest");
  return i;
}

class JobLog : public SessionTest, public testing::WithParamInterface<Mode> {
protected:
  /// What the driver writes to stderr while `run` has a pool of two workers, in lines
  /// that hold `word`.
  template <class Run>
  std::vector<std::string> lines_with(const std::string& word, PoolOptions options,
                                      Run run) {
    testing::internal::CaptureStderr();
    auto config = GetParam().config;
    config.forward_output = true;
    config.log_level = "warn";
    open(config);
    {
      Pool pool(std::move(options));
      run(pool);
    }
    close();
    std::istringstream text(testing::internal::GetCapturedStderr());
    std::vector<std::string> lines;
    for (std::string line; std::getline(text, line);)
      if (line.find(word) != std::string::npos)
        lines.push_back(line);
    return lines;
  }
};

/// Not std::regex, of which g++ 12 warns when it builds with sanitizers.
bool matches(const std::string& line, const std::string& pattern) {
  regex_t expression;
  if (regcomp(&expression, ("^" + pattern + "$").c_str(), REG_EXTENDED | REG_NOSUB) != 0)
    throw std::runtime_error("a pattern that is none: " + pattern);
  auto matched = regexec(&expression, line.c_str(), 0, nullptr, 0) == 0;
  regfree(&expression);
  return matched;
}

TEST_P(JobLog, of_a_task_is_the_drivers_with_the_names_of_both) {
  auto lines = lines_with("careful", {.workers = 2}, [](Pool& pool) {
    EXPECT_EQ(pool.map(warn_of_5, indices(20)), indices(20));
  });
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_TRUE(matches(lines[0],
                      R"(\[[0-9:.]+\] \[fiber\] .*warning.*: )"
                      R"(\[pool[^ ]*\.w[01]-[0-9]+ task 5 attempt 1\] careful)"))
    << lines[0];
}

TEST_P(JobLog, of_no_task_is_the_drivers_with_the_name_of_the_job) {
  auto lines = lines_with(
    "at the start", {.workers = 1, .initializer = [] { log().error("at the start"); }},
    [](Pool& pool) { EXPECT_EQ(pool.map(f, indices(20)), undisturbed(20)); });
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_TRUE(matches(lines[0], R"(\[[0-9:.]+\] \[fiber\] .*error.*: )"
                                R"(\[pool[^ ]*\.w0-[0-9]+\] at the start)"))
    << lines[0];
}

std::size_t forge_a_record(std::size_t i) {
  log().warn("careful\n[12:00:00.000] [fiber] error: the driver is forged\x1b[2J");
  return i;
}

TEST_P(JobLog, of_several_lines_looks_like_no_other_record) {
  auto lines = lines_with("forged", {.workers = 1}, [](Pool& pool) {
    EXPECT_EQ(pool.map(forge_a_record, indices(1)), indices(1));
  });
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0], "    [12:00:00.000] [fiber] error: the driver is forged\\x1b[2J");
}

TEST_P(JobLog, below_the_level_is_nobodys) {
  EXPECT_TRUE(lines_with("of no interest", {.workers = 2}, [](Pool& pool) {
                EXPECT_EQ(pool.map(warn_of_5, indices(20)), indices(20));
              }).empty());
}

INSTANTIATE_TEST_SUITE_P(On, JobLog, testing::Values(modes()[0], modes()[1], modes()[2]),
                         mode_name);

} // namespace
} // namespace fiber::e2e
