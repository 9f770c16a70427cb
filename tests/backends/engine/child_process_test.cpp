// SPDX-License-Identifier: Apache-2.0
// The promise: a program that is run for its output can neither block, flood nor outlive
// who runs it.
#include "backends/engine/child_process.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "backends/engine/spawn.hpp"

namespace fiber::backends {
namespace {

using namespace std::chrono_literals;

ChildCommand shell(const std::string& script) {
  ChildCommand command;
  command.program = "sh"; // Looked up in $PATH.
  command.argv = {"sh", "-c", script};
  command.environment = environment_with({});
  return command;
}

TEST(ChildProcess, returns_both_streams_and_the_exit_code) {
  auto told = run_child(shell("echo out; echo err >&2; exit 3"));
  EXPECT_EQ(told.exit_code, 3);
  EXPECT_EQ(told.output, "out\n");
  EXPECT_EQ(told.errors, "err\n");
  EXPECT_EQ(failure(told, 1s), "exit code 3");
}

TEST(ChildProcess, gives_the_program_more_input_than_a_pipe_holds) {
  auto command = shell("cat");
  command.input = std::string(3 << 20, 'x');
  command.output_limit = 4 << 20;
  auto expected = command.input;
  auto told = run_child(std::move(command));
  EXPECT_EQ(failure(told, 1s), "");
  EXPECT_EQ(told.output, expected);
}

TEST(ChildProcess, is_not_looked_up_in_the_current_folder) {
  std::string folder = testing::TempDir() + "fiber_child_XXXXXX";
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  auto here = std::filesystem::current_path();
  std::string before = std::getenv("PATH");
  auto file = std::filesystem::path(folder) / "tool-of-nobody";
  std::ofstream(file) << "#!/bin/sh\n";
  std::filesystem::permissions(file, std::filesystem::perms::owner_all);
  std::filesystem::current_path(folder);
  auto start = [](const char* path) {
    ::setenv("PATH", path, 1);
    ChildCommand command;
    command.program = "tool-of-nobody";
    command.argv = {"tool-of-nobody"};
    return run_child(std::move(command)).start_error;
  };
  for (auto* path : {":/usr/bin", "/usr/bin::/bin", "/usr/bin:", ".:/usr/bin", ""})
    EXPECT_EQ(start(path), ENOENT) << path;
  EXPECT_EQ(start(folder.c_str()), 0);
  std::filesystem::permissions(file, std::filesystem::perms::owner_read);
  EXPECT_EQ(start(folder.c_str()), EACCES);
  ::setenv("PATH", before.c_str(), 1);
  std::filesystem::current_path(here);
  std::filesystem::remove_all(folder);
}

TEST(ChildProcess, gives_the_program_an_empty_input) {
  EXPECT_EQ(run_child(shell("cat; echo end")).output, "end\n");
}

TEST(ChildProcess, kills_a_program_and_its_children_at_the_limit) {
  auto command = shell("echo $$; sleep 1000 | sleep 1000");
  command.limit = 300ms;
  auto told = run_child(std::move(command));
  EXPECT_TRUE(told.timed_out);
  EXPECT_EQ(told.exit_code, -SIGKILL);
  EXPECT_EQ(failure(told, 300ms), "no answer within 300 ms");
  auto group = std::stoi(told.output);
  auto end = std::chrono::steady_clock::now() + 30s;
  while (::kill(-group, 0) == 0 && std::chrono::steady_clock::now() < end)
    ; // The kernel is about to remove them.
  EXPECT_EQ(::kill(-group, 0), -1);
}

TEST(ChildProcess, kills_a_program_that_prints_too_much) {
  auto command = shell("while :; do echo xxxxxxxxxxxxxxxx; done");
  command.output_limit = 1000;
  auto told = run_child(std::move(command));
  EXPECT_TRUE(told.too_much_output);
  EXPECT_EQ(failure(told, 1s), "too much output");
}

TEST(ChildProcess, keeps_the_end_of_a_long_stderr) {
  auto told = run_child(shell("seq 10000 >&2"));
  EXPECT_EQ(told.errors.size(), 4096u);
  EXPECT_TRUE(told.errors.ends_with("\n10000\n"));
}

TEST(ChildProcess, says_why_a_program_cannot_be_started) {
  auto command = shell("");
  command.program = "no-such-program";
  auto told = run_child(std::move(command));
  EXPECT_EQ(told.start_error, ENOENT);
  EXPECT_EQ(failure(told, 1s), "No such file or directory");
}

TEST(ChildProcess, adds_and_replaces_variables) {
  auto command = shell("echo $FIBER_TEST_ONE $HOME");
  command.environment = environment_with({{"FIBER_TEST_ONE", "1"}, {"HOME", "/none"}});
  EXPECT_EQ(run_child(std::move(command)).output, "1 /none\n");
}

/// Returns the line of a process's signals in /proc: "SigBlk" or "SigIgn".
std::string signals_of(const std::string& status, const std::string& key) {
  auto at = status.find(key);
  return status.substr(at, status.find('\n', at) - at);
}

TEST(SpawnChild, unblocks_signals_unless_a_mask_is_given) {
  sigset_t blocked, before;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGUSR1);
  ::pthread_sigmask(SIG_BLOCK, &blocked, &before);
  auto told = run_child(shell("cat /proc/self/status"));
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  EXPECT_EQ(signals_of(told.output, "SigBlk"), "SigBlk:\t0000000000000000");
}

} // namespace
} // namespace fiber::backends
