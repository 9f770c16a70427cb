// SPDX-License-Identifier: Apache-2.0
// A task that kills its worker says where: WorkerLost has the stack of the crash and the
// last that the job wrote.
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

#include <fiber/error.hpp>

#include "base/log.hpp"
#include "tests/e2e/support/modes.hpp"

namespace fiber::e2e {

// Of external linkage and never inlined: the names to be found.

[[gnu::noinline]] int write_nowhere(int i) {
  volatile int* nowhere = nullptr;
  *nowhere = i; // NOLINT: meant.
  return i;
}

[[gnu::noinline]] int calls_the_writer(int i) {
  return write_nowhere(i) + 1;
}

/// Uses the stack up, whatever the optimiser thinks.
[[gnu::noinline]] int falls(volatile char* above) {
  volatile char here[4096];
  here[0] = above == nullptr ? '\0' : *above;
  if (here[0] == 77) // Never: but this must be able to end.
    return 0;
  here[4095] = static_cast<char>(falls(here) % 2);
  return here[4095];
}

[[gnu::noinline]] int gives_up(int i) {
  if (i >= 0)
    std::abort();
  return i;
}

[[gnu::noinline]] void throws_alone() {
  throw std::out_of_range("no such weight");
}

using Function = int (*)(int);
volatile Function no_function = nullptr;

[[gnu::noinline]] int calls_nothing(int i) {
  return no_function(i) + 1;
}

namespace {

class CrashReport : public EveryMode {
protected:
  /// What becomes of the task when it is run once, and no more.
  template <class F>
  static WorkerLost lost(F task, std::size_t workers_per_job = 1) {
    Pool pool(PoolOptions{
      .workers = workers_per_job, .workers_per_job = workers_per_job, .max_retries = 0});
    try {
      pool.apply(task, 7);
    } catch (const WorkerLost& error) {
      expect_works(pool, workers_per_job);
      return error;
    }
    throw std::runtime_error("the task has killed nobody");
  }

  static std::string line(const std::string& text, std::size_t n) {
    std::size_t begin = 0;
    for (; n > 0 && begin != text.npos; --n)
      begin = text.find('\n', begin) + 1;
    return text.substr(begin, text.find('\n', begin) - begin);
  }
};

void expect_in(const std::string& part, const std::string& text) {
  EXPECT_NE(text.find(part), text.npos) << "no \"" << part << "\" in: " << text;
}
void expect_not_in(const std::string& part, const std::string& text) {
  EXPECT_EQ(text.find(part), text.npos) << "\"" << part << "\" in: " << text;
}

TEST_P(CrashReport, names_the_functions_that_led_to_a_null_pointer) {
  auto error = lost([](int i) { return calls_the_writer(i); });
  EXPECT_EQ(error.exits(), std::vector<std::optional<int>>{-SIGSEGV});
  EXPECT_EQ(error.reason(), "killed by SIGSEGV (null pointer)");
  expect_in("fiber::e2e::write_nowhere(int)", line(error.stack(), 0));
  expect_in("crash_report_test.cpp:", line(error.stack(), 0));
  expect_in("fiber::e2e::calls_the_writer(int)", line(error.stack(), 1));
  // What brought the task there is no news, nor is what told of it.
  for (auto* ours : {"run_task", "callable.hpp", "__restore_rt"})
    expect_not_in(ours, error.stack());
  EXPECT_EQ(std::count(error.stack().begin(), error.stack().end(), '\n'), 2);
  expect_in(
    "task 0 lost its worker in each of 1 run (signal 11); last: killed by SIGSEGV "
    "(null pointer)\n  fiber::e2e::write_nowhere(int) at ",
    error.what());
}

TEST_P(CrashReport, is_the_one_of_the_slot_whose_task_crashed) {
  auto error = lost([](int i) { return calls_the_writer(i); }, 3);
  expect_in("fiber::e2e::write_nowhere(int)", line(error.stack(), 0));
}

TEST_P(CrashReport, tells_a_stack_overflow) {
  auto error = lost([](int) { return falls(nullptr); }, 2);
  EXPECT_EQ(error.reason(), "killed by SIGSEGV (stack overflow)");
  expect_in("fiber::e2e::falls(", line(error.stack(), 0));
  expect_in("fiber::e2e::falls(", line(error.stack(), 20));
}

TEST_P(CrashReport, names_who_called_a_null_function) {
  auto error = lost([](int i) { return calls_nothing(i); });
  EXPECT_EQ(error.reason(), "killed by SIGSEGV (null pointer)");
  expect_in("fiber::e2e::calls_nothing(int)", line(error.stack(), 0));
}

TEST_P(CrashReport, names_who_aborted) {
  auto error = lost([](int i) { return gives_up(i); });
  EXPECT_EQ(error.reason(), "killed by SIGABRT");
  expect_in("fiber::e2e::gives_up(int)", line(error.stack(), 0));
}

TEST_P(CrashReport, has_the_exception_that_nobody_caught_in_a_thread) {
  auto error = lost([](int i) {
    std::thread(throws_alone).join();
    return i;
  });
  EXPECT_EQ(error.reason(),
            "killed by SIGABRT (uncaught std::out_of_range: no such weight)");
  expect_in("fiber::e2e::throws_alone()", line(error.stack(), 0));
  expect_in("terminate called after throwing", error.last_log()); // As without Fiber.
}

TEST_P(CrashReport, has_no_stack_after_sigkill_but_the_last_lines) {
  testing::internal::CaptureStderr(); // It stands there, too.
  Pool pool(PoolOptions{.workers = 1, .max_retries = 0});
  pool.apply([](int) { log().error("low on fuel"); }, 7); // Here when its result is.
  try {
    pool.apply(
      [](int i) {
        std::printf("first\n");
        std::fflush(stdout);
        std::fprintf(stderr, "last");
        kill(getpid(), SIGKILL);
        return i;
      },
      7);
    ADD_FAILURE() << "no error";
  } catch (const WorkerLost& error) {
    EXPECT_EQ(error.reason(), "killed by SIGKILL");
    EXPECT_EQ(error.stack(), "");
    EXPECT_EQ(error.last_log(), "low on fuel\nfirst\nlast");
    EXPECT_EQ(line(error.what(), 0), error.what());
  }
  expect_in("low on fuel", testing::internal::GetCapturedStderr());
}

TEST_P(CrashReport, keeps_no_more_than_the_last_lines_of_a_flood) {
  auto error = lost([](int i) {
    for (int n = 0; n < 100'000; ++n)
      std::printf("line %d\n", n);
    std::printf("the end");
    std::fflush(stdout);
    return gives_up(i);
  });
  auto log = error.last_log();
  EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 19);
  EXPECT_TRUE(log.ends_with("line 99999\nthe end")) << log;
  expect_in("gives_up", line(error.stack(), 0));
}

TEST_P(CrashReport, leaves_a_handler_of_the_users_alone) {
  auto error = lost([](int i) {
    std::signal(SIGABRT, [](int) { _exit(55); });
    return gives_up(i);
  });
  EXPECT_EQ(error.exits(), std::vector<std::optional<int>>{55});
  EXPECT_EQ(error.stack(), "");
}

TEST_P(CrashReport, is_not_of_a_process_that_the_task_has_forked) {
  auto error = lost([](int i) {
    auto child = fork();
    if (child == 0)
      gives_up(i);
    waitpid(child, nullptr, 0);
    std::signal(SIGABRT, SIG_DFL); // Ends by the same signal, without a word.
    std::abort();
    return i;
  });
  EXPECT_EQ(error.exits(), std::vector<std::optional<int>>{-SIGABRT});
  EXPECT_EQ(error.stack(), "");
}

INSTANTIATE_TEST_SUITE_P(On, CrashReport,
                         testing::Values(modes()[0], modes()[1], modes()[2]), mode_name);

class ForwardedOutput : public SessionTest, public testing::WithParamInterface<Mode> {};

TEST_P(ForwardedOutput, of_a_crash_has_what_the_task_wrote_and_no_report) {
  testing::internal::CaptureStderr();
  auto config = GetParam().config;
  config.forward_output = true;
  open(config);
  {
    Pool pool(PoolOptions{.workers = 1, .max_retries = 2});
    EXPECT_THROW(pool.apply(
                   [](int i) {
                     std::fprintf(stderr, "whole line\nhalf a line");
                     return gives_up(i);
                   },
                   7),
                 WorkerLost);
  }
  close();
  auto text = testing::internal::GetCapturedStderr();
  expect_in("] whole line\n", text);
  expect_in("] half a line\n", text);
  expect_not_in("fiber-crash", text);
  expect_not_in("\x1e", text);
}

INSTANTIATE_TEST_SUITE_P(On, ForwardedOutput,
                         testing::Values(modes()[0], modes()[1], modes()[2]), mode_name);

} // namespace
} // namespace fiber::e2e
