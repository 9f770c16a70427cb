// SPDX-License-Identifier: Apache-2.0
// The promise of each backend whose jobs are processes: they start with their parameters,
// their ends are reported correctly, and none of their children is left.
#include "tests/backends/contract.hpp"

#include <sys/socket.h>

#include <csignal>
#include <filesystem>
#include <fstream>

namespace fiber::backends {

using std::chrono::milliseconds;
using std::chrono::minutes;
using Kind = JobEvent::Kind;

TEST_P(Processes, boot_bytes_of_any_size_arrive_unchanged) {
  Bytes large(GetParam().max_boot_bytes);
  for (std::size_t i = 0; i < large.size(); ++i)
    large[i] = static_cast<std::byte>(i * 31 + i / 4096);
  auto command = boot("digest\n");
  std::copy(command.begin(), command.end(), large.begin());
  for (auto& bytes : {Bytes{}, Bytes{std::byte{0}}, large}) {
    auto spec = BackendTest::spec("size-" + std::to_string(bytes.size()), "");
    spec.boot = bytes;
    auto job = test_->backend->create(std::move(spec));
    EXPECT_EQ(test_->events.last(job.id).exit_code, 0);
    EXPECT_EQ(test_->backend->logs(job.id), digest(bytes) + "\n");
  }
}

TEST_P(Processes, keys_arrive_unchanged) {
  auto job = test_->create("one", "keys");
  test_->events.last(job.id);
  EXPECT_EQ(test_->backend->logs(job.id), digest(BackendTest::keys()) + "\n");
}

TEST_P(Processes, exit_codes_are_reported) {
  for (int code : {0, 1, 42, 255}) {
    auto name = "exit-" + std::to_string(code);
    test_->create(name, "exit " + std::to_string(code));
    auto last = test_->events.last(name);
    EXPECT_EQ(last.kind, Kind::ended);
    EXPECT_EQ(last.exit_code, code);
  }
}

TEST_P(Processes, signals_are_reported_by_number_and_name) {
  std::map<int, std::string> signals{{SIGKILL, "SIGKILL"},
                                     {SIGSEGV, "SIGSEGV"},
                                     {SIGABRT, "SIGABRT"},
                                     {SIGTERM, "SIGTERM"}};
  for (auto& [signal, name] : signals) {
    test_->create(name, "signal " + std::to_string(signal));
    auto last = test_->events.last(name);
    EXPECT_EQ(last.exit_code, -signal);
    EXPECT_NE(last.detail.find(name), std::string::npos) << last.detail;
  }
}

TEST_P(Processes, logs_keep_stdout_and_stderr_in_order) {
  auto job = test_->create("one", "print first\nerror second\nprint third\ntail fourth");
  test_->events.last(job.id);
  EXPECT_EQ(test_->backend->logs(job.id), "first\nsecond\nthird\nfourth");
  test_->backend->forget(job.id);
  EXPECT_EQ(test_->backend->logs(job.id), "");
}

TEST_P(Processes, logs_of_a_running_job_can_be_read) {
  auto job = test_->create("one", "print early\nwait");
  EXPECT_EQ(test_->logs_with(job.id, "waiting\n"), "early\nwaiting\n");
}

TEST_P(Processes, logs_keep_the_last_mebibyte) {
  auto flood = std::to_string(GetParam().flood_bytes);
  auto job = test_->create("one", "print first\nflood " + flood + "\nlinger");
  auto logs = test_->logs_with(job.id, "end of flood\n");
  EXPECT_LE(logs.size(), 1u << 20);
  EXPECT_GT(logs.size(), 1u << 19);
  EXPECT_TRUE(logs.ends_with("end of flood\n"))
    << logs.substr(logs.size() - std::min<std::size_t>(logs.size(), 200));
  EXPECT_FALSE(logs.starts_with("first"));
}

TEST_P(Processes, a_job_that_ignores_SIGTERM_is_forced_after_the_grace) {
  auto job = test_->create("one", "ignore-term\nlinger");
  test_->logs_with(job.id, "ignoring");
  test_->backend->terminate(job.id, milliseconds(50));
  expect_end(job.id, -SIGKILL);
}

TEST_P(Processes, a_job_ends_by_itself_on_SIGTERM) {
  auto job = test_->create("one", "wait");
  test_->logs_with(job.id, "waiting");
  test_->backend->terminate(job.id, minutes(5));
  expect_end(job.id, 0);
}

TEST_P(Processes, a_stopped_job_is_terminated) {
  auto forced = test_->create("forced", "stop\nlinger");
  auto asked = test_->create("asked", "stop\nlinger");
  for (auto& job : {forced.id, asked.id})
    test_->logs_with(job, "stopping");
  test_->backend->terminate(forced.id, milliseconds(0));
  test_->backend->terminate(asked.id, milliseconds(50));
  expect_end(forced.id, -SIGKILL);
  EXPECT_NE(test_->events.last(asked.id).exit_code, 0);
}

TEST_P(Processes, children_of_a_job_end_with_it) {
  if (!GetParam().same_host)
    return;
  auto ended = test_->create("ended", "child\nchild\nexit 3");
  auto forced = test_->create("forced", "child\nchild\nlinger");
  EXPECT_EQ(test_->events.last(ended.id).exit_code, 3);
  int forced_child = -1;
  eventually([&] {
    return (forced_child = number_after(test_->backend->logs(forced.id), "child ")) > 0;
  });
  test_->backend->terminate(forced.id, milliseconds(0));
  test_->events.last(forced.id);
  int ended_child = number_after(test_->backend->logs(ended.id), "child ");
  ASSERT_GT(ended_child, 0);
  ASSERT_GT(forced_child, 0);
  EXPECT_TRUE(eventually([&] { return process_gone(ended_child); }));
  EXPECT_TRUE(eventually([&] { return process_gone(forced_child); }));
}

TEST_P(Processes, a_job_sees_the_drivers_arguments_and_environment) {
  auto spec =
    BackendTest::spec("one", "argv\nenv FIBER_TEST_ADDED\nenv FIBER_NODE\nenv PATH");
  spec.environment["FIBER_TEST_ADDED"] = "a b=c";
  auto job = test_->backend->create(std::move(spec));
  test_->events.last(job.id);
  auto logs = test_->backend->logs(job.id);
  std::ifstream command_line("/proc/self/cmdline", std::ios::binary);
  int count = 0;
  for (std::string word; std::getline(command_line, word, '\0'); ++count) {
    if (count == 0 && !GetParam().same_host)
      continue; // The image determines the program's path.
    auto line = "argv " + std::to_string(count) + " " + word + "\n";
    EXPECT_NE(logs.find(line), logs.npos) << logs;
  }
  EXPECT_EQ(logs.find("argv " + std::to_string(count)), logs.npos) << logs;
  EXPECT_NE(logs.find("FIBER_TEST_ADDED=a b=c\n"), logs.npos) << logs;
  EXPECT_NE(logs.find("FIBER_NODE=(unset)\n"), logs.npos) << logs;
  auto path = std::string("PATH=") + std::getenv("PATH") + "\n";
  EXPECT_TRUE(!GetParam().same_host || logs.find(path) != logs.npos) << logs;
}

TEST_P(Processes, a_job_runs_in_the_drivers_directory) {
  if (!GetParam().same_host)
    return; // The image determines the directory.
  auto job = test_->create("one", "cwd");
  test_->events.last(job.id);
  EXPECT_EQ(test_->backend->logs(job.id),
            "cwd " + std::filesystem::current_path().string() + "\n");
}

TEST_P(Processes, a_link_carries_bytes_both_ways_and_ends_with_the_job) {
  if (!GetParam().links)
    return;
  auto job = test_->create("one", "echo");
  ASSERT_TRUE(job.link);
  char reply[5] = {};
  ASSERT_EQ(::write(job.link.get(), "hello", 5), 5);
  ASSERT_EQ(::recv(job.link.get(), reply, sizeof reply, MSG_WAITALL), 5);
  EXPECT_EQ(std::string(reply, 5), "hello");
  test_->backend->terminate(job.id, milliseconds(0));
  EXPECT_EQ(::recv(job.link.get(), reply, sizeof reply, MSG_WAITALL), 0);
  test_->events.last(job.id);
}

TEST_P(Processes, a_job_ends_when_its_link_is_closed) {
  if (!GetParam().links)
    return;
  auto job = test_->create("one", "wait");
  test_->logs_with(job.id, "waiting");
  job.link.reset();
  EXPECT_EQ(test_->events.last(job.id).exit_code, 0);
}

TEST_P(Processes, a_link_and_a_page_come_only_if_requested) {
  auto spec = BackendTest::spec("one", "exit 0");
  spec.link = false;
  auto job = test_->backend->create(std::move(spec));
  EXPECT_FALSE(job.link);
  EXPECT_EQ(job.page, nullptr);
  EXPECT_EQ(test_->events.last(job.id).exit_code, 0);
}

TEST_P(Processes, a_page_is_shared_with_the_job_and_outlives_it) {
  if (!GetParam().pages)
    return;
  auto spec = BackendTest::spec("one", "page 77");
  spec.page_bytes = 4096;
  auto job = test_->backend->create(std::move(spec));
  ASSERT_NE(job.page, nullptr);
  EXPECT_EQ(job.page->size(), 4096u);
  test_->events.last(job.id);
  EXPECT_EQ(job.page->data()[0], std::byte{77});
}

/// Whoever used it afterwards would die of SIGBUS.
TEST_P(Processes, a_shared_page_cannot_be_cut_off_by_the_job) {
  if (!GetParam().pages)
    return;
  auto spec = BackendTest::spec("one", "cut-page");
  spec.page_bytes = 4096;
  auto job = test_->backend->create(std::move(spec));
  ASSERT_NE(job.page, nullptr);
  test_->events.last(job.id);
  EXPECT_EQ(test_->backend->logs(job.id),
            ::geteuid() == 0 ? "page refused\n" : "page not found\n");
  job.page->data()[4095] = std::byte{1};
}

TEST_P(Processes, a_process_that_left_the_jobs_group_does_not_delay_its_end) {
  if (!GetParam().same_host)
    return;
  auto job = test_->create("one", "daemon\nexit 5");
  EXPECT_EQ(test_->events.last(job.id).exit_code, 5);
  int daemon = number_after(test_->backend->logs(job.id), "child ");
  ASSERT_GT(daemon, 0);
  ::kill(daemon, SIGKILL);
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Processes);

} // namespace fiber::backends
