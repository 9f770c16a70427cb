// SPDX-License-Identifier: Apache-2.0
// The promise: a process runs its function once, and whatever becomes of it, everybody
// learns how it ended; nothing of it is left.
#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

#include <fiber/fiber.hpp>
#include <gtest/gtest.h>

#include "tests/e2e/support/modes.hpp"

namespace fiber::e2e {
namespace {

using namespace std::chrono_literals;
using fiber::Process; // Not that of processes.hpp.

void nothing() {}
void wait_for_go() {
  note_and_wait("running");
}
int add(int a, int b) {
  return a + b;
}
void fail() {
  throw std::out_of_range("no 17th");
}
double half(double x) {
  return x / 2;
}

std::size_t open_files() {
  return static_cast<std::size_t>(
    std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {}));
}

Process run(Process process) {
  process.start();
  process.join();
  return process;
}

class EveryProcess : public EveryMode {};

TEST_P(EveryProcess, exits_with_0_or_the_int_that_its_function_returns) {
  EXPECT_EQ(run(Process(nothing)).exit_code(), 0);
  EXPECT_EQ(run(Process(add, 3, 4)).exit_code(), 7);
  EXPECT_EQ(run(Process(add, 0, -1)).exit_code(), 255); // As the system has it.
  EXPECT_EQ(run(Process(half, 14.0)).exit_code(), 0);
  EXPECT_EQ(run(Process(
                  [](std::string text, const std::vector<int>& numbers) {
                    return static_cast<int>(text.size() + numbers.size());
                  },
                  "four", std::vector<int>{1, 2}))
              .exit_code(),
            6);
}

TEST_P(EveryProcess, exits_with_1_if_its_function_throws) {
  auto process = run(Process({.name = "thrower"}, fail));
  EXPECT_EQ(process.exit_code(), 1);
  if (!in_process()) {
    EXPECT_EQ(process.logs(), "thrower: uncaught std::out_of_range: no 17th\n");
  }
}

TEST_P(EveryProcess, has_a_name) {
  EXPECT_EQ(Process(nothing).name(), "Process-1");
  EXPECT_EQ(Process({.name = "the second, with a space"}, nothing).name(),
            "the second, with a space");
  auto third = run(Process(nothing));
  EXPECT_EQ(third.name(), "Process-3");
  EXPECT_FALSE(third.job_id().empty());
  EXPECT_EQ(run(Process({.name = "the fourth/with a slash"}, add, 1, 1)).exit_code(), 2);
}

TEST_P(EveryProcess, is_not_alive_before_its_start_nor_after_its_end) {
  Process process(add, 1, 1);
  EXPECT_FALSE(process.is_alive());
  EXPECT_EQ(process.exit_code(), std::nullopt);
  EXPECT_EQ(process.pid(), 0);
  EXPECT_EQ(process.job_id(), "");
  EXPECT_EQ(process.logs(), "");
  auto copy = process;
  EXPECT_EQ(copy, process);
  process.start();
  copy.join();
  EXPECT_FALSE(process.is_alive());
  EXPECT_EQ(process.exit_code(), 2);
  copy.join();
  EXPECT_TRUE(copy.join(0s));
  copy.terminate(); // Too late to matter.
  EXPECT_EQ(copy.exit_code(), 2);
  EXPECT_TRUE(active_children().empty());
}

TEST_P(EveryProcess, is_started_once_and_joined_after_that) {
  Process process(nothing);
  EXPECT_THROW(process.join(), Error);
  EXPECT_THROW(process.join(1s), Error);
  EXPECT_THROW(process.terminate(), Error);
  EXPECT_THROW(process.kill(), Error);
  process.start();
  EXPECT_THROW(process.start(), Error);
  process.join();
  EXPECT_THROW(process.start(), Error);
}

TEST_P(EveryProcess, outlives_its_session_as_a_handle) {
  Process ran(nothing), never(nothing);
  ran.start();
  close();
  EXPECT_THROW(ran.join(), Closed);
  EXPECT_THROW(ran.exit_code(), Closed);
  EXPECT_THROW(ran.is_alive(), Closed);
  EXPECT_THROW(ran.terminate(), Closed);
  EXPECT_THROW(ran.kill(), Closed);
  EXPECT_THROW(ran.logs(), Closed);
  EXPECT_THROW(never.start(), Closed);
  EXPECT_THROW(Process{nothing}, Closed);
  EXPECT_THROW(active_children(), Closed);
  EXPECT_THROW(async(nothing), Closed);
}

TEST_P(EveryProcess, has_the_resources_that_its_function_asks_for_or_refuses) {
  EXPECT_EQ(run(Process(meta(add, {.cpu = 2}), 1, 2)).exit_code(), 3);
  EXPECT_EQ(
    run(Process({.resources = {.cpu = 4}}, meta(add, {.cpu = 2}), 1, 2)).exit_code(), 3);
  EXPECT_THROW(Process({.resources = {.cpu = 1, .gpu = 1}}, meta(nothing, {.gpu = 2})),
               ConfigError);
  EXPECT_THROW(Process({.resources = {.cpu = 0}}, nothing), ConfigError);
}

TEST_P(EveryProcess, takes_shared_and_large_values) {
  auto shared = share(std::vector<int>(1000, 1));
  auto size = [](const Shared<std::vector<int>>& some, const std::string& text) {
    return static_cast<int>(some->size() + text.size()) % 251;
  };
  EXPECT_EQ(
    run(Process(fiber::bind(size, shared), std::string(5 << 20, 'x'))).exit_code(),
    (1000 + (5 << 20)) % 251);
}

TEST_P(EveryProcess, is_lost_to_nobody_when_its_last_handle_goes) {
  {
    Process process([] { note("ran", "here"); });
    process.start();
  }
  close();
  EXPECT_EQ(notes("ran").size(), 1u);
}

TEST_P(EveryProcess, gives_its_result_to_a_future) {
  auto sum = async(add, 20, 22);
  auto text =
    async([](int n) { return std::string(static_cast<std::size_t>(n), 'x'); }, 100000);
  auto none = async(nothing);
  EXPECT_EQ(sum.get(), 42);
  EXPECT_EQ(text.get(), std::string(100000, 'x'));
  none.get();
  auto failed = async(fail);
  try {
    failed.get();
    FAIL() << "no error";
  } catch (const RemoteError& error) {
    EXPECT_EQ(error.type(), "std::out_of_range");
    EXPECT_FALSE(error.job().empty());
    EXPECT_THROW(error.rethrow_original(), std::out_of_range);
  }
  EXPECT_EQ(sum.then([](int x) { return x + 1; }).get(), 43);
}

TEST_P(EveryProcess, gives_a_large_result_to_a_future) {
  constexpr std::size_t size = 48 << 20;
  auto text = async([](std::size_t n) { return std::string(n, 'x'); }, size);
  EXPECT_EQ(text.get(), std::string(size, 'x'));
}

TEST_P(EveryProcess, of_a_future_is_a_process_like_any_other) {
  auto sum = async(add, 1, 2);
  for (auto& process : active_children()) { // It may have ended by now.
    EXPECT_GT(process.pid(), 0);
    EXPECT_FALSE(process.job_id().empty());
    process.join();
    EXPECT_EQ(process.exit_code(), 0);
  }
  EXPECT_TRUE(active_children().empty());
  EXPECT_EQ(sum.get(), 3);
}

TEST_P(EveryProcess, that_has_started_is_not_cut_off_by_the_end_of_the_session) {
  std::size_t started = 0;
  std::thread another([&] {
    try {
      while (started < 30) {
        Process process([] { note("ran", "here"); });
        process.start();
        ++started;
        note("started", "here");
      }
    } catch (const Closed&) {
    }
  });
  await_note("started");
  close();
  another.join();
  EXPECT_EQ(notes("ran").size(), started);
}

TEST_P(EveryProcess, and_a_pool_get_along) {
  Pool pool(2);
  auto results = pool.map_async(f, indices(50));
  auto sum = async(add, 1, 2);
  EXPECT_EQ(run(Process(add, 3, 4)).exit_code(), 7);
  EXPECT_EQ(sum.get(), 3);
  EXPECT_EQ(results.get(), undisturbed(50));
}

TEST_P(EveryProcess, leaves_nothing) {
  run(Process(nothing));
  auto files = open_files();
  auto many = GetParam().name == std::string("local") ? 1000 : in_process() ? 1000 : 100;
  for (auto i = 0; i < many; ++i)
    ASSERT_EQ(run(Process(add, i % 100, 1)).exit_code(), i % 100 + 1);
  EXPECT_TRUE(active_children().empty());
  EXPECT_TRUE(wait_until([&] { return jobs(mark()).empty(); }));
  EXPECT_TRUE(wait_until([&] { return open_files() <= files + 4; })) << open_files();
}

INSTANTIATE_TEST_SUITE_P(On, EveryProcess, testing::ValuesIn(modes()), mode_name);

/// What an inline session can't show.
class RealProcess : public EveryMode {
protected:
  /// Started, and within its function.
  static Process running(Process process) {
    process.start();
    EXPECT_GT(noted("running"), 0);
    return process;
  }
};

TEST_P(RealProcess, is_one_of_its_own) {
  auto process = running(Process(wait_for_go));
  EXPECT_TRUE(process.is_alive());
  EXPECT_EQ(process.exit_code(), std::nullopt);
  EXPECT_EQ(process.pid(), noted("running"));
  EXPECT_EQ(jobs(mark()), std::vector<pid_t>{process.pid()});
  EXPECT_EQ(active_children(), std::vector<Process>{process});
  EXPECT_FALSE(process.join(1ms));
  note("go", "");
  EXPECT_TRUE(process.join(deadline));
  EXPECT_EQ(process.exit_code(), 0);
  EXPECT_TRUE(active_children().empty());
}

TEST_P(RealProcess, tells_by_which_signal_it_was_killed) {
  auto process = running(Process(wait_for_go));
  kill(process.pid(), SIGKILL);
  process.join();
  EXPECT_EQ(process.exit_code(), -SIGKILL);
  EXPECT_FALSE(process.is_alive());
}

TEST_P(RealProcess, is_terminated_by_sigterm) {
  auto process = running(Process(wait_for_go));
  process.terminate();
  process.join();
  EXPECT_EQ(process.exit_code(), -SIGTERM);
}

std::atomic<bool> asked_to_end = false;

TEST_P(RealProcess, may_take_sigterm_for_a_hint) {
  auto process = running(Process([] {
    std::signal(SIGTERM, [](int) { asked_to_end = true; });
    note("running", std::to_string(getpid()));
    wait_until([] { return asked_to_end.load(); });
    return 4;
  }));
  process.terminate();
  process.join();
  EXPECT_EQ(process.exit_code(), 4);
}

TEST_P(RealProcess, is_killed_by_sigkill) {
  auto process = running(Process([] {
    std::signal(SIGTERM, SIG_IGN);
    wait_for_go();
  }));
  process.terminate();
  process.kill();
  process.join();
  EXPECT_EQ(process.exit_code(), -SIGKILL);
}

TEST_P(RealProcess, that_is_killed_as_it_starts_never_runs) {
  Process process([] { note("ran", "here"); });
  process.start();
  process.kill();
  process.join();
  // It may have been quicker.
  EXPECT_EQ(process.exit_code(), notes("ran").empty() ? -SIGKILL : *process.exit_code());
}

TEST_P(RealProcess, may_exit_where_it_likes) {
  EXPECT_EQ(run(Process([] { std::_Exit(5); })).exit_code(), 5);
  EXPECT_EQ(run(Process([] { std::exit(6); })).exit_code(), 6);
  EXPECT_EQ(run(Process([] { std::abort(); })).exit_code(), -SIGABRT);
}

TEST_P(RealProcess, keeps_what_it_wrote_without_what_tells_of_its_crash) {
  auto process = run(Process([] {
    std::cout << "on stdout" << std::endl;
    std::cerr << "on stderr\n";
    std::raise(SIGSEGV);
  }));
  EXPECT_EQ(process.exit_code(), -SIGSEGV);
  EXPECT_EQ(process.logs(), "on stdout\non stderr\n");
}

TEST_P(RealProcess, keeps_what_it_wrote_and_did_not_flush) {
  auto process = run(Process([] {
    std::ios::sync_with_stdio(false);
    std::cout << "on stdout";
  }));
  EXPECT_EQ(process.logs(), "on stdout");
}

TEST_P(RealProcess, tells_what_it_has_written_so_far) {
  auto process = running(Process([] {
    std::cout << "so far" << std::endl;
    wait_for_go();
    std::cout << ", so good" << std::endl;
  }));
  EXPECT_TRUE(wait_until([&] { return process.logs() == "so far\n"; })) << process.logs();
  note("go", "");
  process.join();
  EXPECT_EQ(process.logs(), "so far\n, so good\n");
}

TEST_P(RealProcess, is_waited_for_by_the_end_of_the_session) {
  auto process = running(Process([] {
    wait_for_go();
    note("done", "here");
  }));
  std::thread later([] { note("go", ""); });
  close();
  later.join();
  EXPECT_EQ(notes("done").size(), 1u);
}

TEST_P(RealProcess, as_a_daemon_is_ended_with_the_session) {
  Process child([] { note("child", "done"); });
  auto daemon = running(Process({.daemon = true}, [] {
    wait_for_go();
    note("daemon", "done");
  }));
  child.start();
  auto pid = daemon.pid();
  close();
  EXPECT_FALSE(lives(pid));
  EXPECT_EQ(notes("child").size(), 1u);
  EXPECT_TRUE(notes("daemon").empty());
}

TEST_P(RealProcess, that_is_lost_fails_its_future) {
  auto future = async(wait_for_go);
  kill(static_cast<pid_t>(noted("running")), SIGKILL);
  try {
    future.get();
    FAIL() << "no error";
  } catch (const WorkerLost& lost) {
    EXPECT_EQ(lost.exits(), std::vector<std::optional<int>>{-SIGKILL});
    EXPECT_EQ(lost.attempts(), 1);
  }
  EXPECT_EQ(notes("running").size(), 1u); // Once.
}

TEST_P(RealProcess, whose_future_is_cancelled_stops) {
  auto future = async([] {
    note("running", std::to_string(getpid()));
    auto stop = this_task::stop_token();
    wait_until([&] { return stop.stop_requested(); });
    note("stopped", "here");
  });
  auto pid = static_cast<pid_t>(noted("running"));
  future.cancel();
  EXPECT_THROW(future.get(), Cancelled);
  await_note("stopped");
  EXPECT_TRUE(wait_until([&] { return !lives(pid); }));
}

TEST_P(RealProcess, runs_beside_others) {
  std::vector<Process> all;
  for (auto i = 0; i < 20; ++i)
    all.emplace_back(add, i, 0);
  for (auto& process : all)
    process.start();
  for (auto i = 0; i < 20; ++i) {
    all[static_cast<std::size_t>(i)].join();
    EXPECT_EQ(all[static_cast<std::size_t>(i)].exit_code(), i);
  }
}

std::vector<Mode> real_modes() {
  auto all = modes();
  std::erase_if(all, [](auto& mode) { return mode.config.backend == "inline"; });
  return all;
}
INSTANTIATE_TEST_SUITE_P(On, RealProcess, testing::ValuesIn(real_modes()), mode_name);

class LateProcess : public SessionTest {};

/// Jobs do not come to fiber::init then.
const bool comes_late = [] {
  auto late = std::getenv("E2E_COMES_LATE") != nullptr;
  if (late)
    pause();
  return late;
}();

TEST_F(LateProcess, says_that_it_was_not_ready_in_time) {
  setenv("E2E_COMES_LATE", "yes", 1);
  open({.backend = "local", .start_deadline = 1s, .zygote = "never"});
  Process process(nothing);
  process.start();
  EXPECT_THROW(process.join(), TimeoutError);
  EXPECT_THROW(process.exit_code(), TimeoutError);
  EXPECT_EQ(process.pid(), 0);
  EXPECT_FALSE(process.is_alive());
  EXPECT_THROW(async(nothing).get(), TimeoutError);
  unsetenv("E2E_COMES_LATE");
}

class InlineProcess : public SessionTest {};

TEST_F(InlineProcess, runs_to_its_end_within_start) {
  open({.backend = "inline"});
  Process process([] { note("ran", std::to_string(getpid())); });
  process.start();
  EXPECT_EQ(noted("ran"), getpid());
  EXPECT_FALSE(process.is_alive());
  EXPECT_EQ(process.exit_code(), 0);
}

TEST_F(InlineProcess, cant_be_killed) {
  open({.backend = "inline"});
  auto process = run(Process(nothing));
  try {
    process.kill();
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("inline runs on one thread"),
              std::string::npos);
  }
}

TEST_F(InlineProcess, cant_wait_for_itself) {
  open({.backend = "inline"});
  auto process = run(Process([] {
    try {
      active_children().front().join();
    } catch (const Error& error) {
      note("refused", error.what());
    }
  }));
  EXPECT_EQ(process.exit_code(), 0);
  ASSERT_EQ(notes("refused").size(), 1u);
  EXPECT_NE(notes("refused")[0].find("inline runs on one thread"), std::string::npos);
}

TEST_F(InlineProcess, may_start_another_and_use_a_pool) {
  open({.backend = "inline"});
  auto process = run(Process([] {
    Pool pool(2);
    auto squares = pool.map(f, indices(10));
    return squares == undisturbed(10) ? *run(Process(add, 5, 6)).exit_code() : 1;
  }));
  EXPECT_EQ(process.exit_code(), 11);
}

} // namespace
} // namespace fiber::e2e
