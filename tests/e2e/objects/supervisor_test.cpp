// SPDX-License-Identifier: Apache-2.0
// The promise: what a supervisor has spawned is there again when its job has died, and
// who holds a Ref to it need not know.
#include <csignal>
#include <cstdlib>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

#include <fiber/fiber.hpp>
#include <gtest/gtest.h>

#include "tests/e2e/objects/supervised.hpp"
#include "tests/e2e/support/modes.hpp"

namespace fiber::e2e {
namespace {

using namespace std::chrono_literals;

class EverySupervisor : public EveryMode {};

TEST_P(EverySupervisor, spawns_objects_and_ends_them) {
  Supervisor supervisor;
  auto first = supervisor.spawn<Counter>({.name = "first"}, std::string("a"));
  auto second = supervisor.spawn<Counter>({}, "b");
  auto third = supervisor.spawn<Counter>();
  EXPECT_EQ(first.call<&Counter::count>(), 1);
  EXPECT_EQ(first.async<&Counter::count>().get(), 2);
  EXPECT_EQ(second.call<&Counter::count>(), 1);
  third.send<&Counter::count>();
  EXPECT_EQ(third.call<&Counter::count>(), 2);
  auto children = supervisor.children();
  ASSERT_EQ(children.size(), 3U);
  EXPECT_EQ(children[0].name, "first");
  EXPECT_NE(children[1].name, children[2].name);
  for (auto& child : children) {
    EXPECT_TRUE(child.alive);
    EXPECT_EQ(child.restarts, 0);
    EXPECT_EQ(child.last_error, "");
    EXPECT_EQ(child.job.empty(), in_process());
  }
  supervisor.stop();
  EXPECT_EQ(notes("events"),
            (std::vector<std::string>{"+a", "+b", "+", "-", "-b", "-a"}));
  EXPECT_TRUE(supervisor.children().empty());
  EXPECT_THROW(first.call<&Counter::count>(), Closed);
  EXPECT_THROW(supervisor.spawn<Counter>(), Closed);
  supervisor.stop();
}

TEST_P(EverySupervisor, throws_what_a_constructor_throws_and_has_no_child_then) {
  Supervisor supervisor;
  for (auto cpu : {1.0, 0.1}) {
    SpawnOptions options{.name = "broken", .resources = {.cpu = cpu}};
    try {
      supervisor.spawn<Fails>(options);
      FAIL() << "nothing was thrown";
    } catch (const RemoteError& error) {
      EXPECT_EQ(error.type(), "std::out_of_range");
    }
    EXPECT_TRUE(supervisor.children().empty());
    EXPECT_FALSE(find<Fails>("broken"));
  }
  EXPECT_EQ(supervisor.spawn<Counter>({.name = "broken"}).call<&Counter::count>(), 1);
}

TEST_P(EverySupervisor, ends_its_children_with_itself) {
  std::optional<Ref<Counter>> counter;
  {
    Supervisor supervisor;
    auto inner = supervisor.supervisor();
    counter = inner.spawn<Counter>({}, "x");
    EXPECT_EQ(counter->call<&Counter::count>(), 1);
    ASSERT_EQ(supervisor.children().size(), 1U);
    EXPECT_TRUE(supervisor.children()[0].alive);
    EXPECT_EQ(supervisor.children()[0].job, "");
  }
  EXPECT_EQ(notes("events"), (std::vector<std::string>{"+x", "-x"}));
  EXPECT_THROW(counter->call<&Counter::count>(), Closed);
}

TEST_P(EverySupervisor, has_supervisors_that_end_alone) {
  Supervisor supervisor;
  auto inner = supervisor.supervisor();
  auto one = inner.spawn<Counter>({}, "one");
  auto other = supervisor.spawn<Counter>({}, "other");
  inner.stop();
  EXPECT_THROW(one.call<&Counter::count>(), Closed);
  EXPECT_THROW(inner.spawn<Counter>(), Closed);
  EXPECT_EQ(other.call<&Counter::count>(), 1);
  EXPECT_EQ(supervisor.children().size(), 1U);
}

TEST_P(EverySupervisor, is_stopped_with_its_session) {
  Supervisor supervisor;
  auto inner = supervisor.supervisor();
  auto one = supervisor.spawn<Counter>({}, "a");
  auto other = inner.spawn<Counter>({}, "b");
  close();
  EXPECT_EQ(notes("events"), (std::vector<std::string>{"+a", "+b", "-a", "-b"}));
  EXPECT_THROW(one.call<&Counter::count>(), Closed);
  EXPECT_THROW(inner.spawn<Counter>(), Closed);
  EXPECT_THROW(Supervisor(), Closed);
}

TEST_P(EverySupervisor, finds_named_children_anywhere) {
  Supervisor supervisor;
  auto inner = supervisor.supervisor();
  auto counter = inner.spawn<Counter>({.name = "learner"});
  auto found = find<Counter>("learner");
  ASSERT_TRUE(found);
  EXPECT_EQ(*found, counter);
  EXPECT_FALSE(find<Counter>("nobody"));
  EXPECT_THROW(supervisor.spawn<Counter>({.name = "learner"}), ConfigError);
  try {
    find<Fails>("learner");
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "\"learner\" is a fiber::e2e::Counter, and a "
                               "fiber::e2e::Fails was asked for");
  }
  Pool pool(1);
  EXPECT_EQ(pool.apply([] { return find<Counter>("learner")->call<&Counter::count>(); }),
            1);
  EXPECT_FALSE(pool.apply([] { return find<Counter>("nobody").has_value(); }));
  inner.stop();
  EXPECT_FALSE(find<Counter>("learner"));
  EXPECT_FALSE(pool.apply([] { return find<Counter>("learner").has_value(); }));
  EXPECT_EQ(supervisor.spawn<Counter>({.name = "learner"}).call<&Counter::count>(), 1);
}

TEST_P(EverySupervisor, gives_each_child_a_checkpoint) {
  Supervisor supervisor;
  auto one = supervisor.spawn<Counter>({}, "one");
  auto other = supervisor.spawn<Counter>({}, "other");
  one.call<&Counter::count>();
  one.call<&Counter::save>();
  auto kept = one.call([](Counter&) { return this_object::checkpoint(); });
  EXPECT_EQ(kept.load<int>(), 1);
  EXPECT_EQ(other.call([](Counter&) { return this_object::checkpoint().load<int>(); }),
            std::nullopt);
  EXPECT_THROW(this_object::checkpoint(), Error);
}

TEST_P(EverySupervisor, refuses_options_that_cant_be) {
  EXPECT_THROW(Supervisor(SupervisorOptions{.intensity = -1}), ConfigError);
  EXPECT_THROW(Supervisor(SupervisorOptions{.period = 0s}), ConfigError);
  EXPECT_THROW(Supervisor(SupervisorOptions{.backoff = {.factor = 0.5}}), ConfigError);
  Supervisor supervisor;
  EXPECT_THROW(supervisor.spawn<Counter>({.resources = {.cpu = -1}}), ConfigError);
  EXPECT_THROW(supervisor.on_restart(Ref<Counter>(), [] {}), Error);
}

INSTANTIATE_TEST_SUITE_P(With, EverySupervisor, testing::ValuesIn(modes()), mode_name);

// -- on jobs --

class SupervisorFault : public EveryMode {};

TEST_P(SupervisorFault, restarts_what_was_killed_and_its_refs_go_on) {
  Supervisor supervisor(SupervisorOptions{.intensity = 10});
  auto counter = supervisor.spawn<Counter>({.name = "counter"}, "a");
  Pool pool(1);
  for (int i = 0; i < 3; ++i) {
    auto pid = counter.call<&Counter::pid>();
    ::kill(pid, SIGKILL);
    EXPECT_TRUE(wait_until([&] { return supervisor.children()[0].restarts == i + 1; }));
    EXPECT_NE(counter.call<&Counter::pid>(), pid);
    EXPECT_EQ(
      pool.apply([](Ref<Counter> of) { return of.call<&Counter::count>(); }, counter), 1);
  }
  EXPECT_EQ(supervisor.children()[0].last_error, "killed by SIGKILL");
  supervisor.stop();
  // on_stop() belongs to planned ends.
  EXPECT_EQ(notes("events"), (std::vector<std::string>{"+a", "+a", "+a", "+a", "-a"}));
}

TEST_P(SupervisorFault, has_no_child_whose_job_was_lost_before_it_was_made) {
  Supervisor supervisor;
  struct Dies {
    Dies() { std::raise(SIGKILL); }
  };
  for (auto cpu : {1.0, 0.5})
    EXPECT_EQ(why([&] { supervisor.spawn<Dies>({.resources = {.cpu = cpu}}); }),
              "the job was lost before the object was made: killed by SIGKILL");
  EXPECT_TRUE(supervisor.children().empty());
  EXPECT_EQ(supervisor.spawn<Counter>().call<&Counter::count>(), 1);
}

TEST_P(SupervisorFault, tells_calls_that_were_under_way) {
  Supervisor supervisor;
  auto counter = supervisor.spawn<Counter>({}, "a");
  auto pid = counter.call<&Counter::pid>();
  auto runs = counter.async<&Counter::wait_for_ever>();
  auto waits = counter.async<&Counter::count>();
  await_note("waits");
  ::kill(pid, SIGKILL);
  EXPECT_THROW(waits.get(), WorkerLost);
  try {
    runs.get();
    FAIL() << "nothing was thrown";
  } catch (const WorkerLost& lost) {
    EXPECT_EQ(lost.exits(), std::vector<std::optional<int>>{-SIGKILL});
    EXPECT_NE(std::string(lost.what()).find("may have run"), std::string::npos)
      << lost.what();
  }
  EXPECT_EQ(counter.call<&Counter::count>(), 1);
}

TEST_P(SupervisorFault, restores_from_the_checkpoint_before_any_call) {
  Supervisor supervisor;
  auto counter = supervisor.spawn<Counter>({}, "a");
  EXPECT_EQ(counter.call<&Counter::count>(), 1);
  EXPECT_EQ(counter.call<&Counter::count>(), 2);
  counter.call<&Counter::save>();
  EXPECT_EQ(counter.call<&Counter::count>(), 3);
  kill_and_await(supervisor, 0, counter);
  EXPECT_EQ(counter.call<&Counter::count>(), 3);
}

TEST_P(SupervisorFault, tells_this_process_of_restarts) {
  Supervisor supervisor;
  auto counter = supervisor.spawn<Counter>({}, "a");
  auto other = supervisor.spawn<Counter>({}, "b");
  SimpleQueue<int> queue;
  supervisor.on_restart(
    counter, [queue](Ref<Counter> of) mutable { queue.put(of.call<&Counter::count>()); });
  supervisor.on_restart(counter, [queue]() mutable { queue.put(getpid()); });
  kill_and_await(supervisor, 1, other);
  kill_and_await(supervisor, 0, counter);
  EXPECT_EQ(queue.get(), 1);
  EXPECT_EQ(queue.get(), getpid());
  EXPECT_TRUE(queue.empty());
}

TEST_P(SupervisorFault, tries_again_when_a_constructor_throws_at_a_restart) {
  Supervisor supervisor(SupervisorOptions{.backoff = {.first = 1ms}});
  auto fragile = supervisor.spawn<FailsAgain>({}, 2);
  auto pid = fragile.call<&FailsAgain::pid>();
  ::kill(pid, SIGKILL);
  EXPECT_TRUE(wait_until([&] { return notes("made").size() == 4; }));
  EXPECT_NE(fragile.call<&FailsAgain::pid>(), pid);
  auto child = supervisor.children()[0];
  EXPECT_EQ(child.restarts, 3);
  EXPECT_NE(child.last_error.find("threw std::runtime_error: not now"), std::string::npos)
    << child.last_error;
}

TEST_P(SupervisorFault, gives_up_and_names_the_causes) {
  Supervisor supervisor(SupervisorOptions{.intensity = 2, .backoff = {.first = 1ms}});
  auto steady = supervisor.spawn<Counter>({.name = "steady"}, "s");
  auto fragile = supervisor.spawn<FailsAgain>({.name = "fragile"}, 1000);
  ::kill(fragile.call<&FailsAgain::pid>(), SIGKILL);
  EXPECT_TRUE(wait_until([&] { return supervisor_ended(supervisor); }));
  for (auto& told : {why([&] { fragile.call<&FailsAgain::pid>(); }),
                     why([&] { steady.call<&Counter::count>(); }),
                     why([&] { supervisor.spawn<Counter>(); })}) {
    EXPECT_NE(told.find("child \"fragile\""), std::string::npos) << told;
    EXPECT_NE(told.find("killed by SIGKILL"), std::string::npos) << told;
    EXPECT_NE(told.find("std::runtime_error: not now"), std::string::npos) << told;
  }
  EXPECT_EQ(notes("made").size(), 3U);
  EXPECT_EQ(notes("events"), (std::vector<std::string>{"+s", "-s"}));
  EXPECT_FALSE(find<Counter>("steady"));
}

TEST_P(SupervisorFault, gives_up_level_by_level) {
  Supervisor supervisor(SupervisorOptions{.intensity = 1, .backoff = {.first = 1ms}});
  auto inner =
    supervisor.supervisor(SupervisorOptions{.intensity = 1, .backoff = {.first = 1ms}});
  auto steady = inner.spawn<Counter>({.name = "steady"}, "s");
  auto counter = inner.spawn<Counter>({.name = "counter"}, "c");
  for (int lives = 1; lives <= 4; ++lives) {
    EXPECT_TRUE(wait_until(
      [&] { return notes("pids c").size() == static_cast<std::size_t>(lives); }))
      << lives;
    ::kill(static_cast<pid_t>(noted("pids c", static_cast<std::size_t>(lives) - 1)),
           SIGKILL);
  }
  EXPECT_TRUE(wait_until([&] { return supervisor_ended(supervisor); }));
  auto told = why([&] { counter.call<&Counter::count>(); });
  auto chain = std::vector<std::string>{
    "the supervisor has given up: child \"Supervisor#",
    "failed; 2 failures within 10000 ms, last:", "child \"counter\" of Supervisor#",
    "failed; 2 failures", "killed by SIGKILL"};
  std::size_t at = 0;
  for (auto& link : chain) {
    at = told.find(link, at);
    EXPECT_NE(at, std::string::npos) << link << " in " << told;
  }
  EXPECT_EQ(why([&] { inner.spawn<Counter>(); }), told);
  // It was stopped and started with the inner supervisor.
  EXPECT_EQ(notes("pids s").size(), 2U);
}

TEST_P(SupervisorFault, restarts_as_each_child_wants) {
  Supervisor supervisor;
  auto temporary =
    supervisor.spawn<Counter>({.name = "temporary", .restart = Restart::temporary}, "t");
  auto transient =
    supervisor.spawn<Counter>({.name = "transient", .restart = Restart::transient}, "n");
  auto permanent = supervisor.spawn<Counter>({.name = "permanent"}, "p");
  kill_and_await(supervisor, 1, transient); // A failure.
  for (auto& each : {transient, permanent})
    EXPECT_THROW(each.call<&Counter::exit_with>(0), WorkerLost);
  ::kill(temporary.call<&Counter::pid>(), SIGKILL);
  EXPECT_TRUE(wait_until([&] { return supervisor.children().size() == 1; }));
  EXPECT_EQ(permanent.call<&Counter::count>(), 1);
  EXPECT_EQ(supervisor.children()[0].name, "permanent");
  EXPECT_NE(why([&] {
              transient.call<&Counter::count>();
            }).find("\"transient\" is gone for good: its job has ended normally"),
            std::string::npos);
  EXPECT_NE(why([&] {
              temporary.call<&Counter::count>();
            }).find("\"temporary\" is gone for good: killed by SIGKILL"),
            std::string::npos);
  EXPECT_FALSE(find<Counter>("temporary"));
  supervisor.spawn<Counter>({.name = "temporary"});
}

TEST_P(SupervisorFault, keeps_refs_in_other_processes_going) {
  Supervisor supervisor;
  auto counter = supervisor.spawn<Counter>({.name = "counter"}, "a");
  Pool pool(PoolOptions{.workers = 1, .max_retries = 0});
  auto calls = pool.apply_async(
    [](Ref<Counter> of) {
      auto pid = of.call<&Counter::pid>();
      note("knows", std::to_string(pid));
      for (auto lost = 0;;)
        try {
          if (of.call<&Counter::pid>() != pid)
            return lost;
        } catch (const WorkerLost&) {
          ++lost;
        }
    },
    counter);
  await_note("knows");
  ::kill(static_cast<pid_t>(noted("knows")), SIGKILL);
  EXPECT_LE(calls.get(), 1);
}

TEST_P(SupervisorFault, stops_though_calls_are_under_way) {
  Supervisor supervisor;
  auto counter = supervisor.spawn<Counter>({}, "a");
  SimpleQueue<int> gate;
  auto runs = counter.async(
    [](Counter&, SimpleQueue<int> at) {
      note("waits", "");
      return at.get();
    },
    gate);
  auto waits = counter.async<&Counter::count>();
  await_note("waits");
  std::thread stops([&] { supervisor.stop(); });
  // What has not begun is told so, and then what runs goes on.
  EXPECT_THROW(waits.get(), Error);
  gate.put(7);
  stops.join();
  EXPECT_EQ(runs.get(), 7);
  EXPECT_EQ(notes("events"), (std::vector<std::string>{"+a", "-a"}));
}

INSTANTIATE_TEST_SUITE_P(With, SupervisorFault,
                         testing::Values(Mode{"local", {}}, Mode{"tls", {.link = "tls"}}),
                         mode_name);

} // namespace
} // namespace fiber::e2e
