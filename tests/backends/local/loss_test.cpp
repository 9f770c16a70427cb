// SPDX-License-Identifier: Apache-2.0
// The promise: jobs of a lost zygote go on, and none runs twice; a lost driver's jobs all
// end.
#include "backends/local/local_backend.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/backends/contract.hpp"

namespace fiber::backends {

namespace {

using std::chrono::milliseconds;
using Kind = JobEvent::Kind;

std::unique_ptr<Backend> local() {
  return make_local(
    {.plain_spawn = false, .forward_output = false, .argv = {}, .executable = {}});
}

/// Returns our only child process, or -1.
int zygote() {

  int pid = -1;
  for (auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream list(task.path() / "children");
    if (list >> pid)
      return pid;
  }
  return -1;
}

void kill_zygote() {
  int pid = -1;
  ASSERT_TRUE(eventually([&] { return (pid = zygote()) > 0; }));
  ::kill(pid, SIGKILL);
}

/// Returns whether the other end still answers.
bool echoes(const Job& job) {
  char byte = 'x';
  return ::write(job.link.get(), &byte, 1) == 1 && ::read(job.link.get(), &byte, 1) == 1;
}

TEST(LostZygote, jobs_of_a_lost_zygote_go_on_and_their_later_end_is_unknown) {
  BackendTest test(local());
  auto one = test.create("one", "echo");
  auto two = test.create("two", "echo");
  ASSERT_TRUE(test.events.wait_for(Kind::started, 2));
  kill_zygote();
  auto three = test.create("three", "echo");
  ASSERT_NE(test.events.started("three"), -1) << test.events.last("three").detail;
  for (auto* job : {&one, &two, &three})
    EXPECT_TRUE(echoes(*job));
  EXPECT_EQ(test.events.count(Kind::ended), 0u);
  one.link.reset(); // Ends it with 0, which stays unknown.
  auto last = test.events.last("one");
  EXPECT_EQ(last.kind, Kind::ended);
  EXPECT_EQ(last.exit_code, std::nullopt);
  EXPECT_EQ(last.detail, "exit unknown (zygote lost)");
  test.backend->terminate("two", milliseconds(0));
  EXPECT_EQ(test.events.last("two").detail, "exit unknown (zygote lost)");
  three.link.reset();
  EXPECT_EQ(test.events.last("three").exit_code, 0);
}

TEST(LostZygote, jobs_lost_together_with_the_zygote_are_each_reported_once) {
  BackendTest test(local());
  std::vector<Job> jobs;
  for (int i = 0; i < 8; ++i)
    jobs.push_back(test.create("job-" + std::to_string(i), "echo"));
  ASSERT_TRUE(test.events.wait_for(Kind::started, 8));
  int pid = zygote();
  ASSERT_GT(pid, 0);
  std::vector<int> workers;
  for (auto& job : jobs) {
    workers.push_back(test.events.started(job.id));
    ASSERT_GT(workers.back(), 0);
  }
  for (int i = 0; i < 8; i += 2) {
    if (i == 4)
      ::kill(pid, SIGKILL);
    ::kill(workers[static_cast<std::size_t>(i)], SIGKILL);
  }
  for (std::size_t i = 0; i < 8; i += 2)
    EXPECT_EQ(test.events.last(jobs[i].id).kind, Kind::ended);
  for (std::size_t i = 1; i < 8; i += 2)
    EXPECT_TRUE(echoes(jobs[i]));
  EXPECT_EQ(test.events.count(Kind::ended), 4u);
  test.create("after", "exit 6");
  EXPECT_EQ(test.events.last("after").exit_code, 6);
}

TEST(LostZygote, jobs_being_created_while_the_zygote_is_lost_each_live_once) {
  constexpr std::size_t count = 120;
  BackendTest test(local());
  std::vector<Job> jobs;
  for (std::size_t i = 0; i < count; ++i) {
    auto spec = BackendTest::spec("job-" + std::to_string(i), "print born\necho");
    jobs.push_back(test.backend->create(std::move(spec)));
    if (i % 40 == 39) {
      // Some requests are in flight.
      ASSERT_TRUE(test.events.wait_for(Kind::started, i - 35));
      kill_zygote();
    }
  }
  ASSERT_TRUE(test.events.wait_for(Kind::started, count));
  for (auto& job : jobs) {
    EXPECT_TRUE(echoes(job)) << job.id;
    EXPECT_EQ(test.logs_with(job.id, "born\n"), "born\n") << job.id << " was born twice";
  }
  EXPECT_EQ(test.events.count(Kind::started), count);
  EXPECT_EQ(test.events.count(Kind::ended) + test.events.count(Kind::failed), 0u);
}

TEST(LostZygote, a_zygote_lost_repeatedly_before_it_is_ready_fails_in_the_end) {
  BackendTest test(make_local({.plain_spawn = false,
                               .forward_output = false,
                               .argv = {"other_program", "hang"},
                               .executable = OTHER_PROGRAM}));
  test.create("one", "exit 0");
  int killed = 0, last_killed = -1;
  ASSERT_TRUE(eventually([&] {
    if (int pid = zygote(); pid > 0 && pid != last_killed && ::kill(pid, SIGKILL) == 0) {
      last_killed = pid;
      ++killed;
    }
    return test.events.count(Kind::failed) == 1;
  }));
  EXPECT_EQ(killed, 3);
  EXPECT_EQ(test.events.last("one").detail,
            "the program was killed by SIGKILL before it reached fiber::init");
}

TEST(LostZygote, the_end_of_the_backend_ends_orphans_too) {
  std::vector<int> pids;
  {
    BackendTest test(local());
    auto one = test.create("one", "echo");
    auto two = test.create("two", "stop\nlinger");
    pids = {test.events.started("one"), test.events.started("two")};
    kill_zygote();
  }
  for (int pid : pids)
    EXPECT_TRUE(eventually([&] { return process_gone(pid); }));
}

/// Runs other_program as a driver, kills it, and checks that all its processes end.
void kill_driver(const char* how) {
  auto files = left_files();
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  UniqueFd read_end(ends[0]), write_end(ends[1]);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, write_end.get(), STDOUT_FILENO);
  std::string program = "other_program", argument = how;
  char* argv[] = {program.data(), argument.data(), nullptr};
  pid_t driver = 0;
  ASSERT_EQ(::posix_spawn(&driver, OTHER_PROGRAM, &actions, nullptr, argv, ::environ), 0);
  ::posix_spawn_file_actions_destroy(&actions);
  write_end.reset();
  std::string text;
  char buffer[512];
  while (text.find("all up\n") == text.npos) {
    ssize_t got = ::read(read_end.get(), buffer, sizeof buffer);
    if (got <= 0)
      break;
    text.append(buffer, static_cast<std::size_t>(got));
  }
  ::kill(driver, SIGKILL);
  ::waitpid(driver, nullptr, 0);
  std::vector<int> pids;
  for (std::string word : {"started ", "child "})
    for (auto at = text.find(word); at != text.npos; at = text.find(word, at + 1))
      pids.push_back(std::stoi(text.substr(at + word.size())));
  EXPECT_EQ(pids.size(), 5u) << text;
  for (int pid : pids)
    EXPECT_TRUE(eventually([&] { return process_gone(pid); })) << pid << " of\n" << text;
  EXPECT_EQ(left_files(), files);
}

TEST(LostDriver, a_lost_driver_ends_all_forked_jobs_stopped_ones_and_their_children_too) {
  kill_driver("drive");
}

TEST(LostDriver, a_lost_driver_ends_all_execed_jobs_stopped_ones_and_their_children_too) {
  kill_driver("drive-plain");
}

} // namespace

} // namespace fiber::backends
