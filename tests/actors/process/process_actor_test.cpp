// SPDX-License-Identifier: Apache-2.0
// The promise: a process runs its one task at most once, and reports its end once,
// whatever happens to its job.

#include "tests/actors/process/process_fixture.hpp"

#include <csignal>

#include "backends/output/crash_line.hpp"

namespace fiber::actors {
namespace {

using namespace std::chrono_literals;

TEST_F(ProcessTest, the_name_of_a_job_suits_every_engine) {
  start();
  EXPECT_EQ(ordered.name, "my-trainer");
  EXPECT_EQ(ordered.slots, 1u);
}

TEST_F(ProcessTest, a_process_runs_its_task_when_its_node_is_up) {
  start();
  created();
  EXPECT_EQ(news->job.value(), "engine-7");
  EXPECT_TRUE(told->runs.empty());
  up();
  EXPECT_EQ(news->pid.value(), 77);
  ASSERT_EQ(told->runs.size(), 1u);
  EXPECT_EQ(told->opened.size(), 1u);
  EXPECT_EQ(told->runs[0].lengths, std::vector<std::uint64_t>{4});
  EXPECT_EQ(told->runs[0].attempt, 1u);
}

TEST_F(ProcessTest, large_arguments_are_not_copied_into_the_frame) {
  start(own_message_bytes);
  up();
  ASSERT_EQ(told->runs.size(), 1u);
  EXPECT_EQ(told->runs[0].arguments.size(), own_message_bytes);
}

TEST_F(ProcessTest, a_process_ends_with_the_exit_code_of_its_job) {
  start();
  up();
  answers(3);
  EXPECT_FALSE(news->end.is_set()); // It may still write.
  auto lost = exits(3);
  lost.output = "all of it";
  lose(lost);
  EXPECT_EQ(end().exit_code, 3);
  EXPECT_EQ(end().output, "all of it");
  EXPECT_FALSE(end().problem);
}

TEST_F(ProcessTest, a_process_runs_only_when_it_knows_its_job) {
  start();
  ready(); // A job may dial back before its engine has answered.
  EXPECT_TRUE(told->runs.empty());
  EXPECT_FALSE(news->pid.is_set());
  created();
  EXPECT_EQ(told->runs.size(), 1U);
  EXPECT_EQ(news->job.value(), "engine-7");
  EXPECT_EQ(news->pid.value(), 77);
}

TEST_F(ProcessTest, a_job_is_retired_when_its_result_is_here) {
  start();
  up();
  EXPECT_EQ(told->retired, 0);
  answers(3);
  EXPECT_EQ(told->retired, 1);
}

TEST_F(ProcessTest, a_job_that_sends_an_unexpected_result_is_retired) {
  start();
  up();
  NodeResults news{1, {}};
  news.results.first_seq = 5;
  news.results.results.push_back({TaskResult::Status::value, 0, 0});
  tell(std::move(news));
  EXPECT_EQ(told->retired, 1);
  lose(exits(0));
  EXPECT_EQ(end().exit_code, 0);
}

TEST_F(ProcessTest, a_process_killed_by_a_signal_ends_with_its_number) {
  start();
  up();
  lose(exits(-SIGSEGV));
  EXPECT_EQ(end().exit_code, -SIGSEGV);
  EXPECT_FALSE(end().problem);
}

TEST_F(ProcessTest, the_code_of_the_function_counts_if_the_engine_knows_none) {
  start();
  up();
  answers(7);
  lose(exits(std::nullopt));
  EXPECT_EQ(end().exit_code, 7);
}

TEST_F(ProcessTest, an_exit_code_of_137_is_not_taken_for_sigkill) {
  start();
  up();
  answers(137);
  lose(exits(-SIGKILL));
  EXPECT_EQ(end().exit_code, 137);
}

TEST_F(ProcessTest, an_unknown_exit_is_not_a_success) {
  start();
  up();
  lose(exits(std::nullopt));
  EXPECT_EQ(end().exit_code, std::nullopt);
}

TEST_F(ProcessTest, a_process_that_never_ran_reports_why) {
  start();
  auto lost = exits(0); // A program that does not reach fiber::init.
  lost.status = 5;
  lose(lost);
  try {
    std::rethrow_exception(end().problem);
  } catch (const BackendError& error) {
    EXPECT_EQ(error.status(), 5);
    EXPECT_NE(error.detail().find("my trainer: it ended"), std::string::npos);
  }
  EXPECT_EQ(news->pid.value(), 0);
  EXPECT_EQ(news->job.value(), "");
}

TEST_F(ProcessTest, a_process_that_missed_its_start_deadline_reports_it) {
  start();
  auto lost = exits(-SIGKILL); // The signal by which the driver killed it.
  lost.cause = LossCause::late;
  lose(lost);
  EXPECT_THROW(std::rethrow_exception(end().problem), TimeoutError);
}

TEST_F(ProcessTest, a_process_of_another_build_reports_it) {
  start();
  auto lost = exits(-SIGKILL);
  lost.cause = LossCause::other_build;
  lose(lost);
  EXPECT_THROW(std::rethrow_exception(end().problem), VersionMismatch);
}

TEST_F(ProcessTest, a_process_killed_while_it_starts_ends_with_the_signal) {
  start();
  created();
  lose(exits(-SIGSEGV));
  EXPECT_EQ(end().exit_code, -SIGSEGV);
  EXPECT_FALSE(end().problem);
}

TEST_F(ProcessTest, a_process_that_is_ended_before_it_is_up_never_runs) {
  start();
  tell(EndProcess{10s});
  ASSERT_EQ(told->ends.size(), 1u);
  EXPECT_EQ(told->ends[0].grace, 10s);
  up();
  EXPECT_TRUE(told->runs.empty());
  lose(exits(std::nullopt));
  EXPECT_EQ(end().exit_code, -SIGTERM);
  EXPECT_FALSE(end().problem);
}

TEST_F(ProcessTest, a_killed_process_with_an_unknown_exit_counts_as_killed) {
  start();
  up();
  tell(EndProcess{});
  ASSERT_EQ(told->ends.size(), 1u);
  EXPECT_EQ(told->ends[0].grace, 0ms);
  lose(exits(std::nullopt));
  EXPECT_EQ(end().exit_code, -SIGKILL);
}

TEST_F(ProcessTest, a_process_declared_dead_keeps_its_output) {
  start();
  up();
  *written = "last words";
  auto lost = exits(std::nullopt);
  lost.declared_dead = true;
  lose(lost);
  EXPECT_EQ(end().output, "last words");
}

TEST_F(ProcessTest, a_process_with_an_unconfirmed_end_keeps_its_output) {
  start();
  up();
  *written = "last words";
  auto lost = exits(std::nullopt);
  lost.confirmed = false;
  lose(lost);
  EXPECT_EQ(end().output, "last words");
}

TEST_F(ProcessTest, the_logs_of_a_process_hold_no_crash_lines) {
  start();
  up();
  *written = "mine\n" + std::string(backends::crash_mark) + "signal=11 end\nmine, too\n";
  auto reply = std::make_shared<Reply<std::string>>();
  tell(AskProcessLogs{reply});
  ASSERT_TRUE(reply->is_set());
  EXPECT_EQ(reply->value(), "mine\nmine, too\n");
}

TEST_F(ProcessTest, a_process_ends_with_the_session) {
  start();
  up();
  session_ends();
  ASSERT_EQ(told->ends.size(), 1u);
  EXPECT_GT(told->ends[0].grace, 0ms);
  lose(exits(-SIGTERM));
  EXPECT_EQ(end().exit_code, -SIGTERM);
}

TEST_F(ProcessTest, no_caller_waits_on_if_the_actor_of_a_process_is_killed) {
  start();
  up();
  kill_actor();
  EXPECT_TRUE(end().problem);
}

TEST_F(ProcessTest, no_caller_waits_on_if_the_actor_of_a_job_is_killed) {
  start();
  up();
  caf::anon_send_exit(node, caf::exit_reason::kill);
  run();
  EXPECT_EQ(end().exit_code, std::nullopt);
}

TEST_F(FutureProcessTest, the_result_is_delivered_before_the_process_has_ended) {
  start();
  up();
  answers(7);
  ASSERT_EQ(sink->outcomes.size(), 1u);
  EXPECT_EQ(sink->outcomes[0].value.size(), sizeof(int));
  EXPECT_FALSE(sink->outcomes[0].error);
  lose(exits(0));
  EXPECT_EQ(end().exit_code, 0);
  EXPECT_EQ(sink->outcomes.size(), 1u);
}

TEST_F(FutureProcessTest, the_exception_of_the_task_is_delivered) {
  start();
  up();
  throws();
  expect_result_throws<RemoteError>();
  lose(exits(1));
  EXPECT_EQ(end().exit_code, 1);
  EXPECT_EQ(sink->outcomes.size(), 1u);
}

TEST_F(FutureProcessTest, a_lost_task_of_a_process_is_not_retried) {
  start();
  up();
  lose(exits(-SIGKILL));
  expect_result_throws<WorkerLost>();
  EXPECT_EQ(told->runs.size(), 1u);
}

TEST_F(FutureProcessTest, a_future_of_a_process_that_never_ran_gives_the_reason) {
  start();
  lose(exits(74));
  expect_result_throws<BackendError>();
}

TEST_F(FutureProcessTest, a_cancelled_process_is_told_to_stop_and_then_killed) {
  start();
  up();
  tell(CancelProcess{});
  expect_result_throws<Cancelled>();
  EXPECT_EQ(told->stopped, std::vector<std::uint64_t>{1});
  EXPECT_TRUE(told->ends.empty());
  pass(2s);
  ASSERT_EQ(told->ends.size(), 1u);
  EXPECT_EQ(told->ends[0].grace, 0ms);
  lose(exits(-SIGKILL));
  EXPECT_EQ(sink->outcomes.size(), 1u);
}

TEST_F(FutureProcessTest, a_process_that_is_cancelled_before_it_runs_never_runs) {
  start();
  tell(CancelProcess{});
  expect_result_throws<Cancelled>();
  EXPECT_EQ(told->ends.size(), 1u);
  up();
  EXPECT_TRUE(told->runs.empty());
}

TEST_F(FutureProcessTest, a_process_with_a_result_is_not_cancelled) {
  start();
  up();
  answers(7);
  tell(CancelProcess{});
  pass(5s);
  EXPECT_TRUE(told->ends.empty());
  ASSERT_EQ(sink->outcomes.size(), 1u);
  EXPECT_FALSE(sink->outcomes[0].error);
}

TEST_F(FutureProcessTest, a_future_process_is_cancelled_with_the_session) {
  start();
  up();
  session_ends();
  lose(exits(-SIGTERM));
  expect_result_throws<Cancelled>();
}

} // namespace
} // namespace fiber::actors
