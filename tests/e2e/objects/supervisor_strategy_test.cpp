// SPDX-License-Identifier: Apache-2.0
// The promise: whichever child is killed, those are stopped and started that OTP would
// stop and start, in its order, each after the one before is there.
#include <csignal>
#include <latch>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <fiber/fiber.hpp>
#include <gtest/gtest.h>

#include "tests/e2e/objects/supervised.hpp"
#include "tests/e2e/support/modes.hpp"

namespace fiber::e2e {
namespace {

using namespace std::chrono_literals;

/// What is noted when the n-th of three is killed.
struct Case {
  const char* name;
  Strategy strategy;
  std::size_t killed;
  std::vector<std::string> events;
};
void PrintTo(const Case& each, std::ostream* out) {
  *out << each.name << each.killed;
}

class SupervisorStrategy : public SessionTest,
                           public testing::WithParamInterface<Case> {};

TEST_P(SupervisorStrategy, restarts_whom_otp_would_in_its_order) {
  auto& [name, strategy, killed, events] = GetParam();
  open();
  Supervisor supervisor(SupervisorOptions{.strategy = strategy});
  std::vector<Ref<Counter>> children;
  for (std::string child : {"a", "b", "c"})
    children.push_back(supervisor.spawn<Counter>({.name = child}, child));
  std::vector<std::string> expected{"+a", "+b", "+c"};
  for (int i = 0; i < 2; ++i) { // The second time they have been restarted.
    expected.insert(expected.end(), events.begin(), events.end());
    ::kill(children[killed].call<&Counter::pid>(), SIGKILL);
    EXPECT_TRUE(wait_until([&] { return notes("events").size() >= expected.size(); }));
    for (auto& child : children)
      child.call<&Counter::count>();
    EXPECT_EQ(notes("events"), expected);
  }
  supervisor.stop();
  expected.insert(expected.end(), {"-c", "-b", "-a"});
  EXPECT_EQ(notes("events"), expected);
}

INSTANTIATE_TEST_SUITE_P(
  With, SupervisorStrategy,
  testing::Values(
    Case{"one_for_one", Strategy::one_for_one, 0, {"+a"}},
    Case{"one_for_one", Strategy::one_for_one, 1, {"+b"}},
    Case{"one_for_one", Strategy::one_for_one, 2, {"+c"}},
    Case{"one_for_all", Strategy::one_for_all, 0, {"-c", "-b", "+a", "+b", "+c"}},
    Case{"one_for_all", Strategy::one_for_all, 1, {"-c", "-a", "+a", "+b", "+c"}},
    Case{"one_for_all", Strategy::one_for_all, 2, {"-b", "-a", "+a", "+b", "+c"}},
    Case{"rest_for_one", Strategy::rest_for_one, 0, {"-c", "-b", "+a", "+b", "+c"}},
    Case{"rest_for_one", Strategy::rest_for_one, 1, {"-c", "+b", "+c"}},
    Case{"rest_for_one", Strategy::rest_for_one, 2, {"+c"}}),
  [](auto& info) {
    return std::string(info.param.name) + "_" + std::to_string(info.param.killed);
  });

// -- calls of those that the strategy stops --

class StoppedChild : public SessionTest {
protected:
  static int pass_gate(Counter&, SimpleQueue<int> gate) {
    note("waits", "");
    return gate.get();
  }
  /// The job of `killed` is killed, and `child` told to stop while a call runs there.
  static void stop_busy(const Supervisor& supervisor, const Ref<Counter>& killed,
                        std::size_t child) {
    await_note("waits");
    ::kill(killed.call<&Counter::pid>(), SIGKILL);
    EXPECT_TRUE(wait_until([&] { return !supervisor.children().at(child).alive; }));
  }
};

TEST_F(StoppedChild, ends_what_runs_and_what_waits_runs_in_the_next_one) {
  open();
  Supervisor supervisor(SupervisorOptions{.strategy = Strategy::one_for_all});
  auto killed = supervisor.spawn<Counter>({}, "a");
  auto child = supervisor.spawn<Counter>({}, "b");
  auto pid = child.call<&Counter::pid>();
  SimpleQueue<int> gate, handed;
  auto runs = child.async(pass_gate, gate);
  std::vector<Future<int>> wait;
  for (int i = 0; i < 3; ++i)
    wait.push_back(child.async<&Counter::count>());
  child.send<&Counter::count>();
  child.send([](Counter& of, SimpleQueue<int> to) { to.put(of.pid()); }, handed);
  stop_busy(supervisor, killed, 1);
  wait.push_back(child.async<&Counter::count>());
  gate.put(7);
  EXPECT_EQ(runs.get(), 7);
  for (std::size_t i = 0; i < wait.size(); ++i) // The fourth one was sent.
    EXPECT_EQ(wait[i].get(), i < 3 ? static_cast<int>(i) + 1 : 5);
  EXPECT_NE(handed.get(), pid);
  EXPECT_EQ(notes("events"), (std::vector<std::string>{"+a", "+b", "-b", "+a", "+b"}));
}

TEST_F(StoppedChild, keeps_what_waits_though_what_runs_must_be_killed) {
  open();
  Supervisor supervisor(SupervisorOptions{.strategy = Strategy::one_for_all});
  auto killed = supervisor.spawn<Counter>({}, "a");
  auto child = supervisor.spawn<Counter>({}, "b");
  auto runs = child.async<&Counter::wait_for_ever>();
  auto waits = child.async<&Counter::count>();
  stop_busy(supervisor, killed, 1);
  EXPECT_EQ(waits.get(), 1); // After the 5 s that a call has to end.
  EXPECT_THROW(runs.get(), WorkerLost);
}

TEST_F(StoppedChild, keeps_the_calls_of_other_jobs) {
  open();
  Supervisor supervisor(SupervisorOptions{.strategy = Strategy::rest_for_one});
  auto killed = supervisor.spawn<Counter>({}, "a");
  auto child = supervisor.spawn<Counter>({}, "b");
  auto pid = child.call<&Counter::pid>();
  SimpleQueue<int> gate;
  auto runs = child.async(pass_gate, gate);
  Pool pool(PoolOptions{.workers = 1, .max_retries = 0});
  auto elsewhere = pool.apply_async(
    [](Ref<Counter> of) {
      auto asked = of.async<&Counter::pid>();
      note("asks", "");
      return asked.get();
    },
    child);
  await_note("asks");
  stop_busy(supervisor, killed, 1);
  gate.put(1);
  EXPECT_NE(elsewhere.get(), pid);
}

TEST_F(StoppedChild, of_a_supervisor_that_is_stopped_keeps_its_calls) {
  open();
  Supervisor supervisor(SupervisorOptions{.strategy = Strategy::one_for_all});
  auto killed = supervisor.spawn<Counter>({}, "a");
  auto inner = supervisor.supervisor();
  auto child = inner.spawn<Counter>({}, "b");
  auto pid = child.call<&Counter::pid>();
  SimpleQueue<int> gate;
  auto runs = child.async(pass_gate, gate);
  auto waits = child.async<&Counter::pid>();
  await_note("waits");
  ::kill(killed.call<&Counter::pid>(), SIGKILL);
  EXPECT_TRUE(wait_until([&] { return !inner.children().at(0).alive; }));
  gate.put(1);
  EXPECT_EQ(runs.get(), 1);
  EXPECT_NE(waits.get(), pid);
}

TEST_F(StoppedChild, that_does_not_start_again_tells_its_callers) {
  open();
  Supervisor supervisor(SupervisorOptions{.strategy = Strategy::one_for_all});
  auto killed = supervisor.spawn<Counter>({}, "a");
  auto child = supervisor.spawn<Counter>({.restart = Restart::temporary}, "b");
  SimpleQueue<int> gate;
  auto runs = child.async(pass_gate, gate);
  auto waits = child.async<&Counter::count>();
  await_note("waits");
  ::kill(killed.call<&Counter::pid>(), SIGKILL);
  EXPECT_THROW(waits.get(), WorkerLost); // While the other one still runs.
  gate.put(1);
  EXPECT_EQ(runs.get(), 1);
}

TEST_F(StoppedChild, does_not_wait_for_what_waits_for_it) {
  open();
  Supervisor supervisor(SupervisorOptions{.strategy = Strategy::one_for_all});
  auto killed = supervisor.spawn<Counter>({}, "a");
  SpawnOptions small{.resources = {.cpu = 0.1}};
  auto one = supervisor.spawn<Counter>(small, "b");
  auto other = supervisor.spawn<Counter>(small, "c"); // In the same job.
  SimpleQueue<int> gate;
  auto runs = one.async(pass_gate, gate);
  await_note("waits");
  auto asks = other.async(
    [](Counter&, Ref<Counter> of) {
      auto asked = of.async<&Counter::count>();
      note("asks", "");
      return why([&] { asked.get(); });
    },
    one);
  await_note("asks");
  stop_busy(supervisor, killed, 1);
  EXPECT_NE(asks.get(), ""); // Told while the other one still runs.
  gate.put(1);
  EXPECT_EQ(runs.get(), 1);
}

TEST_F(StoppedChild, gets_those_who_were_about_to_share_its_job) {
  open();
  Supervisor supervisor(SupervisorOptions{.strategy = Strategy::one_for_all});
  auto killed = supervisor.spawn<Counter>({}, "a");
  SpawnOptions small{.resources = {.cpu = 0.1}};
  auto one = supervisor.spawn<Counter>(small, "b");
  auto pid = one.call<&Counter::pid>();
  auto runs = one.async([](Counter&) { note_and_wait("waits"); }); // Has the thread.
  await_note("waits");
  Ref<Counter> other;
  std::thread spawns([&] { other = supervisor.spawn<Counter>(small, "c"); });
  EXPECT_EQ(killed.call<&Counter::count>(), 1); // It is on its way.
  stop_busy(supervisor, killed, 1);
  note("go", "");
  runs.get();
  spawns.join();
  EXPECT_EQ(other.call<&Counter::pid>(), one.call<&Counter::pid>());
  EXPECT_NE(other.call<&Counter::pid>(), pid);
  EXPECT_EQ(notes("pids c").size(), 1U);
}

// -- jobs that children share --

class SharedJobs : public SessionTest {
protected:
  static SpawnOptions small(double cpu, Restart restart = Restart::permanent) {
    return {.resources = {.cpu = cpu}, .restart = restart};
  }
  static int pid_of(const Ref<Counter>& child) { return child.call<&Counter::pid>(); }
};

TEST_F(SharedJobs, have_as_many_children_as_fit) {
  open();
  Supervisor supervisor;
  std::vector<Ref<Counter>> children;
  for (int i = 0; i < 10; ++i)
    children.push_back(supervisor.spawn<Counter>(small(0.2), std::to_string(i)));
  std::set<int> pids;
  for (std::size_t i = 0; i < children.size(); ++i) {
    pids.insert(pid_of(children[i]));
    EXPECT_EQ(pid_of(children[i]), pid_of(children[i / 5 * 5]));
  }
  EXPECT_EQ(pids.size(), 2U);
  auto temporary = supervisor.spawn<Counter>(small(0.2, Restart::temporary), "t");
  auto whole = supervisor.spawn<Counter>({}, "w");
  for (auto& each : {temporary, whole})
    EXPECT_TRUE(pids.insert(pid_of(each)).second);
  auto infos = supervisor.children();
  ASSERT_EQ(infos.size(), 12U);
  EXPECT_EQ(infos[0].job, infos[4].job);
  EXPECT_NE(infos[0].job, infos[5].job);
}

TEST_F(SharedJobs, have_children_that_were_spawned_at_the_same_time) {
  open();
  for (int round = 0; round < 10; ++round) {
    Supervisor supervisor;
    std::vector<Ref<Counter>> children(8);
    std::vector<std::thread> spawners;
    std::latch all(8);
    for (auto& child : children)
      spawners.emplace_back([&] {
        all.arrive_and_wait();
        child = supervisor.spawn<Counter>(small(0.125), "same");
      });
    for (auto& spawner : spawners)
      spawner.join();
    std::set<int> pids;
    for (auto& child : children)
      pids.insert(pid_of(child));
    EXPECT_EQ(pids.size(), 1U);
  }
}

TEST_F(SharedJobs, start_again_with_all_of_theirs_and_count_once) {
  open();
  Supervisor supervisor(SupervisorOptions{.intensity = 1, .period = 3600s});
  std::vector<Ref<Counter>> children;
  for (int i = 0; i < 8; ++i)
    children.push_back(supervisor.spawn<Counter>(small(0.25), std::to_string(i)));
  children[1].call<&Counter::count>();
  children[1].call<&Counter::save>();
  auto other = pid_of(children[4]);
  kill_and_await(supervisor, 0, children[0]);
  auto now = pid_of(children[0]);
  for (std::size_t i = 0; i < 4; ++i)
    EXPECT_EQ(pid_of(children[i]), now);
  for (std::size_t i = 4; i < 8; ++i)
    EXPECT_EQ(pid_of(children[i]), other);
  EXPECT_EQ(children[1].call<&Counter::count>(), 2);
  EXPECT_EQ(children[2].call<&Counter::count>(), 1);
  EXPECT_EQ(supervisor.children().size(), 8U);
  supervisor.stop();
  auto events = notes("events");
  EXPECT_EQ((std::vector<std::string>(events.end() - 8, events.end())),
            (std::vector<std::string>{"-7", "-6", "-5", "-4", "-3", "-2", "-1", "-0"}));
}

TEST_F(SharedJobs, run_one_call_at_a_time_but_for_the_detached) {
  open();
  Supervisor supervisor;
  auto detached = small(0.1);
  detached.detached = true;
  auto blocks = supervisor.spawn<Counter>(detached, "d");
  auto other = supervisor.spawn<Counter>(small(0.1), "o");
  auto runs = blocks.async<&Counter::wait_for_ever>();
  await_note("waits");
  EXPECT_EQ(other.call<&Counter::count>(), 1);
  ::kill(pid_of(other), SIGKILL);
  EXPECT_THROW(runs.get(), WorkerLost);
}

TEST_F(SharedJobs, let_their_children_call_each_other) {
  open();
  Supervisor supervisor;
  auto one = supervisor.spawn<Counter>(small(0.1), "one");
  auto other = supervisor.spawn<Counter>(small(0.1), "other");
  EXPECT_EQ(
    one.call([](Counter&, Ref<Counter> of) { return of.call<&Counter::count>(); }, other),
    1);
}

TEST_F(SharedJobs, hold_hundreds) {
  open();
  Supervisor supervisor;
  std::vector<Ref<Counter>> children;
  for (int i = 0; i < 200; ++i)
    children.push_back(supervisor.spawn<Counter>(small(0.02)));
  EXPECT_EQ(await_jobs(4).size(), 4U);
  std::vector<Future<int>> counts;
  for (auto& child : children)
    counts.push_back(child.async<&Counter::count>());
  for (auto& count : counts)
    EXPECT_EQ(count.get(), 1);
  kill_and_await(supervisor, 0, children[0]);
  for (std::size_t i = 0; i < children.size(); ++i)
    EXPECT_EQ(children[i].call<&Counter::count>(), i < 50 ? 1 : 2) << i;
}

} // namespace
} // namespace fiber::e2e
