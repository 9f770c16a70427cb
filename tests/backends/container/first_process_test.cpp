// SPDX-License-Identifier: Apache-2.0
// The promise: a container that is told to end does so at once, also while its program
// has not reached fiber::init yet.

#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include <gtest/gtest.h>

namespace fiber::backends {
namespace {

/// Runs "other_program slow-start" as the first process of a new PID namespace, which
/// ends with its code, and sends it SIGTERM. Returns 0 if the namespace can't be had, 2
/// if the program did not start.
int exit_code_after_sigterm() {
  if (::unshare(CLONE_NEWPID) != 0)
    return 0;
  int ends[2];
  if (::pipe(ends) != 0)
    return 2;
  pid_t first = ::fork();
  if (first == 0) {
    ::dup2(ends[1], STDOUT_FILENO);
    ::setenv("FIBER_NODE", "stdin", 1);
    ::execl(OTHER_PROGRAM, OTHER_PROGRAM, "slow-start", static_cast<char*>(nullptr));
    ::_exit(2);
  }
  ::close(ends[1]);
  char byte = 0;
  if (::read(ends[0], &byte, 1) != 1)
    return 2;
  ::kill(first, SIGTERM);
  int status = 0;
  ::waitpid(first, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 2;
}

TEST(FirstProcess, ends_on_sigterm_before_its_program_reaches_init) {
  pid_t helper = ::fork(); // This process must stay in its namespace.
  ASSERT_GE(helper, 0);
  if (helper == 0)
    ::_exit(exit_code_after_sigterm());
  int status = 0;
  ASSERT_EQ(::waitpid(helper, &status, 0), helper);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 0)
    GTEST_SKIP() << "SKIPPED: no PID namespace may be made here";
  EXPECT_EQ(WEXITSTATUS(status), 128 + SIGTERM);
}

} // namespace
} // namespace fiber::backends
