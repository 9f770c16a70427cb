// SPDX-License-Identifier: Apache-2.0
// Promise: `fiber` shows what a session does, whatever happens to its jobs, and ends it
// with all that it has started.
#include <csignal>
#include <fstream>
#include <set>
#include <string>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

#include "tests/cli/world.hpp"

namespace fiber::cli {
namespace {

using nlohmann::json;

/// Returns the job that a node has now; null if it has none that is up.
json job_of(const json& snapshot, const std::string& node) {
  for (auto& job : snapshot["jobs"])
    if (job["name"] == node && job["state"] == "up")
      return job;
  return nullptr;
}

bool is_alive(pid_t pid) {
  return ::kill(pid, 0) == 0;
}

class Verbs : public World {};

TEST_F(Verbs, status_shows_pools_calls_jobs_supervisors_and_queues) {
  auto& driver = start("train", {"work", "2"});
  ASSERT_TRUE(wait_until([&] { return status("train")["pools"][0]["done"] > 5; }));
  auto all = status("train");
  EXPECT_EQ(all["schema"], 2);
  EXPECT_EQ(all["session"]["pid"], driver.pid());
  EXPECT_EQ(all["session"]["arguments"], json({CLI_DRIVER, "work", "2"}));
  auto& pool = all["pools"][0];
  EXPECT_EQ(pool["name"], "pool1");
  EXPECT_EQ(pool["failed"], 1);
  EXPECT_GT(pool["tasks_per_second"], 0);
  EXPECT_GT(pool["p50_seconds"], 0.015);
  ASSERT_EQ(pool["calls"].size(), 1U);
  EXPECT_EQ(pool["calls"][0]["function"], "simulate");
  EXPECT_EQ(pool["calls"][0]["total"], 100000);
  EXPECT_GT(pool["calls"][0]["done"], 5);
  auto worker = job_of(all, "pool1.w0");
  ASSERT_FALSE(worker.is_null()) << all;
  EXPECT_EQ(worker["kind"], "pool");
  EXPECT_GT(worker["tasks"], 0);
  EXPECT_TRUE(is_alive(worker["pid"]));
  EXPECT_LT(worker["silent_seconds"], 10);
  auto& supervisor = all["supervisors"][0];
  EXPECT_EQ(supervisor["strategy"], "one_for_one");
  EXPECT_EQ(supervisor["children"][0]["name"], "counter");
  EXPECT_EQ(supervisor["children"][0]["alive"], true);
  auto& queue = all["queues"][0];
  EXPECT_EQ(queue["items"], 2);
  EXPECT_EQ(queue["capacity"], 5);
  ASSERT_EQ(all["failures"].size(), 1U);
  EXPECT_EQ(all["failures"][0]["kind"], "task");
  EXPECT_EQ(all["failures"][0]["who"], "pool1 task 3");
  EXPECT_TRUE(has(all["failures"][0]["why"], "seed 3 has no solution"));
  auto text = fiber({"status", "train"}).out;
  for (auto* part : {"POOL ", "simulate", "counter  up", "QUEUE ", "LAST FAILURES"})
    EXPECT_TRUE(has(text, part)) << part << " in\n" << text;
}

TEST_F(Verbs, logs_say_that_nothing_was_printed) {
  start("quiet", {"idle"}, {{"FIBER_BACKEND", "inline"}});
  auto none = fiber({"logs", "quiet"});
  EXPECT_EQ(none.code, 0);
  EXPECT_EQ(none.out, "");
  EXPECT_TRUE(has(none.errors, "the jobs of quiet printed nothing")) << none.errors;
}

TEST_F(Verbs, a_wrong_command_line_has_exit_code_2) {
  for (auto& words :
       {std::vector<std::string>{}, {"report"}, {"ps", "extra"}, {"statsu"}})
    EXPECT_EQ(fiber(words).code, 2);
  EXPECT_EQ(fiber({"report", "none"}).code, 1);
  EXPECT_EQ(fiber({"ps", "--help"}).code, 0);
}

TEST_F(Verbs, a_lost_worker_is_shown_with_its_cause_and_its_output) {
  start("train", {"work", "2"});
  ASSERT_TRUE(wait_until([&] {
    return has(fiber({"logs", "train", "pool1.w0"}).out, "seed ");
  }));
  auto worker = job_of(status("train"), "pool1.w0");
  ::kill(worker["pid"].get<pid_t>(), SIGKILL);
  json next;
  ASSERT_TRUE(wait_until([&] {
    next = job_of(status("train"), "pool1.w0");
    return !next.is_null() && next["job"] != worker["job"];
  }));
  EXPECT_EQ(next["restarts"], 1);
  auto all = status("train");
  EXPECT_EQ(all["session"]["jobs_lost"], 1);
  EXPECT_EQ(all["pools"][0]["workers_lost"], 1);
  json failure; // Beside that of the task that always fails.
  for (auto& each : all["failures"])
    if (each["kind"] == "job")
      failure = each;
  EXPECT_EQ(failure["who"], worker["job"]);
  EXPECT_EQ(failure["exit_code"], -SIGKILL);
  EXPECT_TRUE(has(failure["why"], "SIGKILL"));
  // The output of the dead job is kept.
  auto log = fiber({"logs", "train", worker["job"].get<std::string>()});
  EXPECT_EQ(log.code, 0) << log.errors;
  EXPECT_TRUE(has(log.out, "seed ")) << log.out;
}

TEST_F(Verbs, logs_of_all_jobs_name_the_job_of_each_line) {
  start("train", {"work", "1"});
  ASSERT_TRUE(wait_until([&] {
    return has(fiber({"logs", "train"}).out, "[pool1.w0-");
  }));
  auto unknown = fiber({"logs", "train", "pool9.w0"});
  EXPECT_EQ(unknown.code, 1);
  EXPECT_TRUE(has(unknown.errors, "no job \"pool9.w0\"")) << unknown.errors;
}

TEST_F(Verbs, logs_that_are_followed_end_with_the_session) {
  auto& driver = start("train", {"work", "1"});
  ASSERT_TRUE(wait_until([&] {
    return has(fiber({"logs", "train", "pool1.w0"}).out, "seed ");
  }));
  // The command runs in the foreground of this test; the driver ends meanwhile.
  auto killer = ::fork();
  if (killer == 0) {
    ::sleep(2);
    driver.send(SIGKILL);
    ::_exit(0);
  }
  auto followed = fiber({"logs", "train", "pool1.w0", "-f"});
  ::waitpid(killer, nullptr, 0);
  EXPECT_EQ(followed.code, 0) << followed.errors;
  // Each line came once, though it was asked for again and again.
  std::size_t lines = 0;
  for (auto at = followed.out.find("seed 5 "); at != std::string::npos;
       at = followed.out.find("seed 5 ", at + 1))
    ++lines;
  EXPECT_EQ(lines, 1U) << followed.out;
}

TEST_F(Verbs, top_prints_once_without_a_terminal) {
  start("train", {"work", "1"});
  auto once = fiber({"top", "train", "--once"});
  EXPECT_EQ(once.code, 0) << once.errors;
  EXPECT_TRUE(has(once.out, "simulate")) << once.out;
  auto live = fiber({"top", "train"});
  EXPECT_EQ(live.code, 1);
  EXPECT_TRUE(has(live.errors, "needs a terminal; --once")) << live.errors;
}

TEST_F(Verbs, stop_ends_the_driver_by_SIGTERM_and_its_jobs_with_it) {
  auto& driver = start("train", {"work", "2"});
  auto worker = job_of(status("train"), "pool1.w0")["pid"].get<pid_t>();
  int signal = 0;
  std::thread reaper([&] { signal = driver.await_end(); });
  auto stopped = fiber({"stop", "train"});
  reaper.join();
  EXPECT_EQ(stopped.code, 0) << stopped.errors;
  EXPECT_TRUE(has(stopped.out, "has ended, and with it 3 jobs")) << stopped.out;
  EXPECT_EQ(signal, SIGTERM);
  EXPECT_TRUE(wait_until([&] { return !is_alive(worker); }));
  EXPECT_EQ(ps().size(), 0U);
}

TEST_F(Verbs, trace_records_the_tasks_of_a_running_pool) {
  start("train", {"work", "2"});
  for (auto name : {"first.json", "second.json"}) { // It can be switched on again.
    auto traced =
      fiber({"trace", "train", "--seconds", "1", "-o", root() + "/" + name, "--json"});
    ASSERT_EQ(traced.code, 0) << traced.errors;
    auto file = traced.json()["file"].get<std::string>();
    EXPECT_EQ(file, root() + "/" + name);
    std::set<int> workers;
    std::size_t tasks = 0;
    for (auto& event : json::parse(std::ifstream(file)))
      if (event["ph"] == "X" && event["cat"] == "task") {
        ++tasks;
        workers.insert(event["tid"].get<int>());
        EXPECT_GE(event["ts"], 0.0);
        // The first ones had begun before the trace did; one task throws at once.
        auto& about = event["args"];
        if (about["sent"] > 0.0 && about["outcome"] != "failed") {
          EXPECT_GE(event["dur"], 20000.0) << event;
        }
      }
    EXPECT_GT(tasks, 2U);
    EXPECT_EQ(workers, (std::set<int>{1, 2}));
  }
}

TEST_F(Verbs, trace_says_why_there_can_be_none) {
  start("train", {"work", "1"});
  auto nowhere = fiber({"trace", "train", "-o", "/nowhere/trace.json"});
  EXPECT_EQ(nowhere.code, 1);
  EXPECT_TRUE(has(nowhere.errors, "can't write /nowhere/trace.json")) << nowhere.errors;
  start("other", {"work", "1"}, {{"FIBER_TRACE", root() + "/own.json"}});
  auto own = fiber({"trace", "other", "-o", root() + "/trace.json"});
  EXPECT_EQ(own.code, 1);
  EXPECT_TRUE(has(own.errors, "the setting trace is " + root() + "/own.json"))
    << own.errors;
}

TEST_F(Verbs, kill_ends_a_driver_that_answers_and_its_jobs) {
  auto& driver = start("train", {"work", "2"});
  auto worker = job_of(status("train"), "pool1.w0")["pid"].get<pid_t>();
  std::thread reaper([&] { EXPECT_EQ(driver.await_end(), SIGKILL); });
  auto killed = fiber({"kill", "train", "--json"});
  reaper.join();
  EXPECT_EQ(killed.code, 0) << killed.errors;
  EXPECT_EQ(killed.json()["answered"], true);
  EXPECT_TRUE(wait_until([&] { return !is_alive(worker); }));
  EXPECT_EQ(sockets().size(), 0U);
}

TEST_F(Verbs, kill_and_stop_take_no_other_session_for_one_that_has_ended) {
  auto& other = start("train_ppo", {"idle"}, {{"FIBER_BACKEND", "inline"}});
  for (auto* verb : {"kill", "stop"}) {
    auto refused = fiber({verb, "train"});
    EXPECT_EQ(refused.code, 1) << refused.out;
    EXPECT_TRUE(has(refused.errors,
                    "there is no session \"train\"; to end train_ppo give its whole "
                    "name"))
      << refused.errors;
  }
  EXPECT_TRUE(is_alive(other.pid()));
  EXPECT_EQ(status("train")["session"]["name"], "train_ppo");
  std::thread reaper([&] { EXPECT_EQ(other.await_end(), SIGTERM); });
  auto stopped = fiber({"stop", "train_ppo:" + other.id()});
  reaper.join();
  EXPECT_EQ(stopped.code, 0) << stopped.errors;
}

TEST_F(Verbs, kill_ends_a_driver_that_is_stopped_and_its_jobs) {
  auto& driver = start("train", {"work", "2"});
  auto worker = job_of(status("train"), "pool1.w0")["pid"].get<pid_t>();
  driver.send(SIGSTOP);
  ASSERT_EQ(::waitpid(driver.pid(), nullptr, WUNTRACED), driver.pid());
  std::thread reaper([&] { EXPECT_EQ(driver.await_end(), SIGKILL); });
  auto killed = fiber({"kill", "train", "--json"});
  reaper.join();
  EXPECT_EQ(killed.code, 0) << killed.errors;
  EXPECT_EQ(killed.json()["answered"], false);
  EXPECT_TRUE(wait_until([&] { return !is_alive(worker); }));
}

} // namespace
} // namespace fiber::cli
