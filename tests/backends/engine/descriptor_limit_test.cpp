// SPDX-License-Identifier: Apache-2.0
// The promise: on every backend jobs find descriptors as long as the hard limit has room,
// and who has reached a limit reads which one, its value and what raises it.
#include "backends/engine/descriptor_limit.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <memory>

#include "backends/engine/job_table.hpp"
#include "base/system_error_text.hpp"
#include "tests/backends/contract.hpp"

namespace fiber::backends {
namespace {

rlimit file_limit() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  return limit;
}

std::string job_name(std::size_t number) {
  return "job-" + std::to_string(number);
}

/// With a soft limit of 128 open files.
class FileLimit : public testing::Test {
protected:
  FileLimit() {
    rlimit few{128, before_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &few);
  }
  ~FileLimit() override { ::setrlimit(RLIMIT_NOFILE, &before_); }

  const rlimit before_ = file_limit();
};

TEST_F(FileLimit, is_raised_before_jobs_reach_it_and_restored_at_the_end) {
  if (before_.rlim_max < 1024)
    GTEST_SKIP() << "the hard limit is " << before_.rlim_max;
  auto table = std::make_unique<JobTable>(1);
  EXPECT_EQ(table->usual_file_limit(), 128U);
  EXPECT_EQ(file_limit().rlim_cur, 128U);
  for (std::size_t i = 0; i < 200; ++i)
    table->admit(job_name(i));
  EXPECT_EQ(file_limit().rlim_cur, before_.rlim_max);
  EXPECT_EQ(table->usual_file_limit(), 128U) << "jobs must get the usual limit";
  table.reset();
  EXPECT_EQ(file_limit().rlim_cur, 128U);
}

TEST_F(FileLimit, stays_as_long_as_few_jobs_run) {
  JobTable table(1);
  table.admit("one");
  EXPECT_EQ(file_limit().rlim_cur, 128U);
}

/// Runs in a child process, because a hard limit cannot be raised again.
void admit_up_to_the_hard_limit(std::size_t per_job) {
  rlimit low{64, 128};
  ::setrlimit(RLIMIT_NOFILE, &low);
  JobTable table(per_job);
  for (int i = 0; i < 20; ++i) // As a session does before its first job.
    ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  auto before = open_descriptors();
  std::string refusal;
  std::size_t admitted = 0;
  for (; admitted < 128 && refusal.empty(); ++admitted)
    try {
      table.admit(job_name(admitted));
    } catch (const EngineError& error) {
      refusal = error.what();
      EXPECT_EQ(error.status(), EMFILE);
      --admitted;
    }
  EXPECT_EQ(refusal, "create job: too many open files: the hard limit is 128, raise with "
                     "ulimit -Hn");
  // Some are left to the program.
  EXPECT_LT(before + per_job * admitted, 120U);
  EXPECT_GT(before + per_job * (admitted + 2), 100U);
  table.close(table.find(job_name(0))); // Its descriptors serve another job.
  EXPECT_NO_THROW(table.admit("another"));
  ::_exit(testing::Test::HasFailure() ? 1 : 0);
}

TEST_F(FileLimit, refuses_jobs_that_could_not_connect_for_lack_of_descriptors) {
  for (std::size_t per_job : {1U, 3U})
    EXPECT_EXIT(admit_up_to_the_hard_limit(per_job), testing::ExitedWithCode(0), "");
}

TEST_F(FileLimit, is_named_with_its_value_and_what_raises_it) {
  if (before_.rlim_max > 128) {
    EXPECT_EQ(system_error_text(EMFILE),
              "too many open files: limit 128, raise with ulimit -n");
  }
  std::string most;
  std::ifstream("/proc/sys/fs/file-max") >> most;
  EXPECT_EQ(system_error_text(ENFILE), "too many open files on this machine: fs.file-max "
                                       "is " +
                                         most +
                                         ", raise as root with sysctl "
                                         "fs.file-max=NUMBER");
  EXPECT_EQ(system_error_text(ENOENT), "No such file or directory");
}

} // namespace
} // namespace fiber::backends
