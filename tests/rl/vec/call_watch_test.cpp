// SPDX-License-Identifier: Apache-2.0
// The promise: a process whose call takes too long ends, whatever else goes wrong; a
// process that was only stopped does not.

#include "fiber/rl/detail/call_watch.hpp"

#include <chrono>
#include <csignal>
#include <thread>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace fiber::rl::tests {
namespace {

using namespace std::chrono_literals;

[[noreturn]] void never_return() {
  for (;;)
    ::pause();
}

/// A child that runs `f`, and then ends well.
template <class F>
pid_t child(F f) {
  const auto pid = ::fork();
  if (pid == 0) {
    f();
    ::_exit(0);
  }
  return pid;
}

int status_of(pid_t pid, int options = 0) {
  int status = 0;
  EXPECT_EQ(::waitpid(pid, &status, options), pid);
  return status;
}

TEST(CallWatch, ends_a_process_that_hangs_once_it_has_reported) {
  int pipe[2];
  ASSERT_EQ(::pipe(pipe), 0);
  const auto status = status_of(child([&] {
    detail::CallWatch watch(50ms, [&](std::uint32_t what) {
      [[maybe_unused]] const auto written = ::write(pipe[1], &what, sizeof(what));
    });
    watch.begin(7);
    watch.begin(8);
    never_return();
  }));
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), detail::CallWatch::exit_code);
  std::uint32_t what = 0;
  EXPECT_EQ(::read(pipe[0], &what, sizeof(what)), static_cast<ssize_t>(sizeof(what)));
  EXPECT_EQ(what, 8U);
  ::close(pipe[0]);
  ::close(pipe[1]);
}

TEST(CallWatch, ends_a_process_whose_report_hangs) {
  const auto status = status_of(child([] {
    detail::CallWatch watch(50ms, [](std::uint32_t) { never_return(); });
    watch.begin(0);
    never_return();
  }));
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
}

TEST(CallWatch, lets_a_process_live_that_was_stopped_or_has_no_call) {
  constexpr auto limit = 400ms;
  const auto pid = child([&] {
    detail::CallWatch watch(limit, [](std::uint32_t) {});
    watch.begin(0);
    ::raise(SIGSTOP);
    watch.end();
    std::this_thread::sleep_for(2 * limit); // In no call.
  });
  ASSERT_TRUE(WIFSTOPPED(status_of(pid, WUNTRACED)));
  std::this_thread::sleep_for(2 * limit);
  ::kill(pid, SIGCONT);
  const auto status = status_of(pid);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST(CallWatch, knows_its_process) {
  const auto own = detail::process_mark();
  EXPECT_EQ(detail::process_mark(), own);
  const auto status =
    status_of(child([&] { ::_exit(detail::process_mark() == own ? 1 : 0); }));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

} // namespace
} // namespace fiber::rl::tests
