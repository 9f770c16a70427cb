// SPDX-License-Identifier: Apache-2.0
// The promise: the supervisor stops and starts the same children as OTP's, in the same
// order, and gives up on children that fail too often, with the causes in the error.

#include <gtest/gtest.h>

#include "tests/actors/supervision/supervised_world.hpp"

using namespace fiber;
using namespace fiber::actors;
using namespace std::chrono_literals;

namespace {

class Supervisor : public ::testing::Test {
protected:
  SupervisedWorld world;
};

// -- strategies --

TEST_F(Supervisor, children_start_in_order_and_stop_in_reverse) {
  auto supervisor = world.supervisor({.children = {world.child("a"), world.child("b")}});
  EXPECT_TRUE(world.asked(supervisor, StartChild{world.child("c")}).ok());
  EXPECT_EQ(world.events(), "+a +b +c");
  EXPECT_TRUE(world.asked(supervisor, StopSupervisor{}).ok());
  EXPECT_EQ(world.events(), "-c ~c -b ~b -a ~a");
  ASSERT_TRUE(world.end_of(supervisor));
  EXPECT_FALSE(*world.end_of(supervisor)); // A normal end.
}

TEST_F(Supervisor, the_same_children_are_restarted_as_in_otp) {
  struct Case {
    Strategy strategy;
    std::string dies, events;
  };
  for (const auto& [strategy, dies, events] : std::vector<Case>{
         {Strategy::one_for_one, "a", "~a +a"},
         {Strategy::one_for_one, "b", "~b +b"},
         {Strategy::one_for_one, "c", "~c +c"},
         {Strategy::one_for_all, "a", "~a -c ~c -b ~b +a +b +c"},
         {Strategy::one_for_all, "b", "~b -c ~c -a ~a +a +b +c"},
         {Strategy::one_for_all, "c", "~c -b ~b -a ~a +a +b +c"},
         {Strategy::rest_for_one, "a", "~a -c ~c -b ~b +a +b +c"},
         {Strategy::rest_for_one, "b", "~b -c ~c +b +c"},
         {Strategy::rest_for_one, "c", "~c +c"},
       }) {
    SCOPED_TRACE(dies);
    auto supervisor = world.supervisor_of_three({.strategy = strategy});
    world.end(dies);
    EXPECT_EQ(world.events(), events);
    // The same again, with the restarted children.
    world.advance(60s);
    world.end(dies);
    EXPECT_EQ(world.events(), events);
    EXPECT_TRUE(world.asked(supervisor, StopSupervisor{}).ok());
  }
}

TEST_F(Supervisor, temporary_children_that_are_stopped_for_a_restart_are_dropped) {
  auto supervisor =
    world.supervisor({.strategy = Strategy::one_for_all,
                      .children = {world.child("a"), world.child("b", Restart::temporary),
                                   world.child("c", Restart::transient)}});
  world.events();
  world.end("a");
  EXPECT_EQ(world.events(), "~a -c ~c -b ~b +a +c");
  EXPECT_EQ(world.asked(supervisor, ListChildren{}).list.size(), 2u);
}

TEST_F(Supervisor, a_child_that_stays_down_does_not_disturb_its_siblings) {
  for (auto strategy : {Strategy::one_for_all, Strategy::rest_for_one}) {
    auto supervisor = world.supervisor(
      {.strategy = strategy,
       .children = {world.child("a", Restart::temporary),
                    world.child("b", Restart::transient), world.child("c")}});
    world.events();
    world.end("a");
    world.end("b", ExitKind::planned);
    EXPECT_EQ(world.events(), "~a ~b");
    EXPECT_TRUE(
      world.asked(supervisor, StartChild{world.child("a")}).ok()); // The name is free.
    EXPECT_TRUE(world.asked(supervisor, StopSupervisor{}).ok());
  }
}

TEST_F(Supervisor, restart_type_and_exit_kind_decide_about_a_restart) {
  struct Case {
    Restart restart;
    ExitKind kind;
    bool again, counted;
  };
  using enum Restart;
  using enum ExitKind;
  for (auto [restart, kind, again, counted] :
       std::vector<Case>{{permanent, planned, true, false},
                         {permanent, charged, true, false},
                         {permanent, lease, true, false},
                         {permanent, lost, true, true},
                         {permanent, escalated, true, true},
                         {transient, planned, false, false},
                         {transient, charged, true, false},
                         {transient, lease, true, false},
                         {transient, lost, true, true},
                         {transient, escalated, true, true},
                         {temporary, planned, false, false},
                         {temporary, charged, false, false},
                         {temporary, lease, false, false},
                         {temporary, lost, false, false},
                         {temporary, escalated, false, false}}) {
    SCOPED_TRACE(testing::Message() << int(restart) << " " << int(kind));
    for (int intensity : {0, 9}) {
      auto supervisor = world.supervisor(
        {.intensity = intensity, .children = {world.child("a", restart)}});
      world.end("a", kind);
      auto gives_up = counted && intensity == 0;
      EXPECT_EQ(world.living(), again && !gives_up ? "a" : "");
      EXPECT_EQ(world.is_alive(supervisor), !gives_up);
      if (!gives_up) {
        EXPECT_EQ(world.asked(supervisor, ListChildren{}).list.size(), again ? 1u : 0u);
        EXPECT_TRUE(world.asked(supervisor, StopSupervisor{}).ok());
      }
    }
  }
}

TEST_F(Supervisor, blameless_ends_are_replaced_at_once_and_without_limit) {
  auto supervisor = world.supervisor({.intensity = 0, .children = {world.child("a")}});
  world.events();
  for (int i = 0; i < 20; ++i)
    world.end("a", i % 2 ? ExitKind::charged : ExitKind::lease);
  EXPECT_EQ(world.chronicle->starts["a"], 21);
  EXPECT_TRUE(world.is_alive(supervisor));
}

TEST_F(Supervisor, blameless_ends_count_if_configured_as_in_otp) {
  auto supervisor = world.supervisor(
    {.intensity = 1, .count_blameless = true, .children = {world.child("a")}});
  world.end("a", ExitKind::planned);
  EXPECT_EQ(world.living(), "a");
  world.end("a", ExitKind::planned);
  EXPECT_FALSE(world.is_alive(supervisor));
}

TEST_F(Supervisor, a_kill_is_a_loss) {
  auto supervisor = world.supervisor({.intensity = 1, .children = {world.child("a")}});
  caf::anon_send_exit(world.chronicle->newest["a"], caf::exit_reason::kill);
  world.run();
  auto info = world.asked(supervisor, ListChildren{}).list.at(0);
  EXPECT_TRUE(info.alive);
  EXPECT_EQ(info.restarts, 1);
  EXPECT_EQ(info.last_error, "was killed");
}

// -- intensity and escalation --

TEST_F(Supervisor, a_supervisor_gives_up_beyond_the_intensity_and_tells_the_causes) {
  auto supervisor = world.supervisor_of_three({.name = "crew", .intensity = 2});
  world.end("a", ExitKind::lost, "first");
  world.end("b", ExitKind::lost, "second");
  EXPECT_EQ(world.events(), "~a +a ~b +b");
  world.end("b", ExitKind::lost, "third");
  EXPECT_EQ(world.events(), "~b -c ~c -a ~a");
  ASSERT_TRUE(world.end_of(supervisor));
  EXPECT_EQ(exit_kind(*world.end_of(supervisor)), ExitKind::escalated);
  EXPECT_EQ(exit_text(*world.end_of(supervisor)),
            "child \"b\" of crew failed; 3 failures within 10000 ms, last: [a: first] "
            "[b: second] [b: third]");
}

TEST_F(Supervisor, the_last_five_distinct_causes_are_told) {
  auto supervisor = world.supervisor({.name = "crew",
                                      .intensity = 7,
                                      .period = {},
                                      .backoff = {.first = 0ms},
                                      .children = {world.child("a")}});
  for (auto text : {"1", "2", "3", "4", "5", "6", "4", "6"})
    world.end("a", ExitKind::lost, text);
  EXPECT_EQ(
    exit_text(world.end_of(supervisor).value()),
    "child \"a\" of crew failed; 8 failures, last: [a: 2] [a: 3] [a: 5] [a: 4] [a: 6]");
}

TEST_F(Supervisor, children_that_failed_alike_are_told_together) {
  auto supervisor = world.supervisor_of_three({.name = "crew", .intensity = 3});
  world.end("a", ExitKind::lost, "no host");
  world.end("b", ExitKind::lost, "another");
  world.end("c", ExitKind::lost, "no host");
  world.end("a", ExitKind::lost, "no host");
  EXPECT_EQ(exit_text(world.end_of(supervisor).value()),
            "child \"a\" of crew failed; 4 failures within 10000 ms, last: [b: another] "
            "[c, a: no host]");
}

TEST_F(Supervisor, of_many_children_that_failed_alike_the_last_five_are_named) {
  std::vector<ChildSpec> children;
  for (auto name : {"a", "b", "c", "d", "e", "f"})
    children.push_back(world.child(name));
  auto supervisor =
    world.supervisor({.name = "crew", .intensity = 5, .children = std::move(children)});
  for (auto name : {"a", "b", "c", "d", "e", "f"})
    world.end(name, ExitKind::lost, "no host");
  EXPECT_EQ(
    exit_text(world.end_of(supervisor).value()),
    "child \"f\" of crew failed; 6 failures within 10000 ms, last: [b, c, d, e, f "
    "and others: no host]");
}

TEST_F(Supervisor, failures_older_than_the_period_do_not_count) {
  auto supervisor = world.supervisor_of_three({.intensity = 1, .period = 5000ms});
  for (int i = 0; i < 5; ++i) {
    world.end("a");
    world.advance(12s);
  }
  EXPECT_EQ(world.living(), "abc");
  world.end("a");
  world.end("b");
  EXPECT_FALSE(world.is_alive(supervisor));
}

TEST_F(Supervisor, without_a_period_restarts_count_until_forgiven) {
  auto supervisor = world.supervisor_of_three({.intensity = 1, .period = {}});
  world.end("a");
  world.advance(1h);
  caf::anon_send(supervisor, ForgiveFailures{});
  world.run();
  world.end("b");
  EXPECT_EQ(world.living(), "abc");
  world.advance(1h);
  world.end("c");
  EXPECT_EQ(
    exit_text(world.end_of(supervisor).value()), // Forgiven failures are not told.
    "child \"c\" of supervisor failed; 2 failures, last: [b, c: broken]");
  EXPECT_EQ(world.living(), "");
}

TEST_F(Supervisor, failure_goes_up_the_tree_with_all_causes) {
  SupervisorConfig inner{.name = "inner", .intensity = 1, .children = {world.child("x")}};
  auto root = world.supervisor(
    {.name = "root",
     .strategy = Strategy::rest_for_one,
     .intensity = 1,
     .children = {world.child("a"), world.subtree(inner), world.child("z")}});
  EXPECT_EQ(world.events(), "+a +inner +z +x"); // The subtree starts by itself.
  world.end("x", ExitKind::lost, "no disk");
  EXPECT_EQ(world.events(), "~x +x");
  world.end("x", ExitKind::lost, "no disk");
  EXPECT_EQ(world.events(), "~x -z ~z +inner +z +x");
  world.end("x", ExitKind::lost, "no memory");
  world.end("x", ExitKind::lost, "no memory");
  EXPECT_EQ(world.events(), "~x +x ~x -z ~z -a ~a");
  auto end = world.end_of(root).value();
  EXPECT_EQ(exit_kind(end), ExitKind::escalated);
  EXPECT_EQ(exit_text(end),
            "child \"inner\" of root failed; 2 failures within 10000 ms, last: "
            "[inner: child \"x\" of inner failed; 2 failures within 10000 ms, last: "
            "[x: no disk]] "
            "[inner: child \"x\" of inner failed; 2 failures within 10000 ms, last: "
            "[x: no memory]]");
}

TEST_F(Supervisor, a_supervisor_stops_the_tree_below_before_it_ends) {
  SupervisorConfig inner{.name = "inner",
                         .children = {world.child("x"), world.child("y")}};
  auto root = world.supervisor(
    {.name = "root", .children = {world.child("a"), world.subtree(inner)}});
  world.events();
  EXPECT_TRUE(world.asked(root, StopSupervisor{}).ok());
  EXPECT_EQ(world.events(), "-y ~y -x ~x -a ~a");
}

TEST_F(Supervisor, a_supervisor_ends_with_the_reason_of_the_exit_message) {
  auto supervisor = world.supervisor_of_three({});
  caf::anon_send(supervisor, caf::exit_msg{{}, make_exit(ExitKind::lease, "silence")});
  world.run();
  EXPECT_EQ(world.events(), "-c ~c -b ~b -a ~a");
  EXPECT_EQ(exit_kind(world.end_of(supervisor).value()), ExitKind::lease);
}

TEST_F(Supervisor, a_supervisor_lives_on_when_a_linked_actor_ends_normally) {
  auto supervisor = world.supervisor_of_three({});
  caf::anon_send(supervisor, caf::exit_msg{{}, {}});
  world.run();
  EXPECT_TRUE(world.is_alive(supervisor));
}

TEST_F(Supervisor, the_children_of_a_killed_supervisor_die) {
  SupervisorConfig inner{.name = "inner", .children = {world.child("x")}};
  auto root = world.supervisor(
    {.name = "root", .children = {world.child("a"), world.subtree(inner)}});
  caf::anon_send_exit(root, caf::exit_reason::kill);
  world.run();
  EXPECT_EQ(world.living(), "");
}

TEST_F(Supervisor, the_children_of_an_unreferenced_supervisor_die) {
  {
    auto supervisor = spawn_supervisor(world.system(), {.children = {world.child("a")}});
    world.run();
    EXPECT_EQ(world.living(), "a");
  }
  world.run();
  EXPECT_EQ(world.living(), "");
}

// -- back-off --

/// Returns the milliseconds from each of `failures` quick failures of a child until its
/// restart.
std::vector<int> waits(SupervisedWorld& world, const std::string& name, int failures) {
  std::vector<int> result;
  for (int i = 0; i < failures; ++i) {
    auto starts = world.chronicle->starts[name];
    world.end(name);
    result.push_back(0);
    for (; world.chronicle->starts[name] == starts && result.back() < 100000;
         ++result.back())
      world.advance(1ms);
  }
  return result;
}

TEST_F(Supervisor, each_failure_in_a_row_makes_the_restart_wait_longer) {
  auto supervisor = world.supervisor_of_three(
    {.intensity = 99,
     .backoff = {.first = 10ms, .most = 50ms, .factor = 2, .jitter = 0}});
  EXPECT_EQ(waits(world, "a", 6), (std::vector{0, 10, 20, 40, 50, 50}));
  EXPECT_EQ(waits(world, "b", 2), (std::vector{0, 10})); // Each child for itself.
}

TEST_F(Supervisor, the_waits_depend_on_the_seed) {
  std::vector<std::vector<int>> runs;
  for (std::uint64_t seed : {1u, 1u, 2u}) {
    auto supervisor = world.supervisor({.intensity = 99,
                                        .backoff = {.first = 100ms, .jitter = 0.2},
                                        .seed = seed,
                                        .children = {world.child("a")}});
    runs.push_back(waits(world, "a", 5));
    EXPECT_TRUE(world.asked(supervisor, StopSupervisor{}).ok());
  }
  EXPECT_EQ(runs[0], runs[1]);
  EXPECT_NE(runs[0], runs[2]);
  EXPECT_EQ(runs[0][0], 0);
  for (int i = 1, middle = 100; i < 5; ++i, middle *= 2) {
    EXPECT_GE(runs[0][i], middle * 8 / 10);
    EXPECT_LE(runs[0][i], middle * 12 / 10);
  }
}

TEST_F(Supervisor, the_back_off_starts_anew_after_a_long_life) {
  auto supervisor = world.supervisor_of_three(
    {.intensity = 99, .backoff = {.first = 10ms, .jitter = 0}, .reset_after = 3000ms});
  EXPECT_EQ(waits(world, "a", 3), (std::vector{0, 10, 20}));
  world.advance(3000ms);
  EXPECT_EQ(waits(world, "a", 1), (std::vector{40}));
  world.advance(3001ms);
  EXPECT_EQ(waits(world, "a", 2), (std::vector{0, 10}));
}

TEST_F(Supervisor, the_back_off_starts_anew_when_forgiven_or_after_a_blameless_end) {
  auto supervisor =
    world.supervisor_of_three({.intensity = 99, .backoff = {.first = 10ms, .jitter = 0}});
  EXPECT_EQ(waits(world, "a", 2), (std::vector{0, 10}));
  caf::anon_send(supervisor, ForgiveFailures{});
  world.run();
  EXPECT_EQ(waits(world, "a", 2), (std::vector{0, 10}));
  world.end("a", ExitKind::charged);
  EXPECT_EQ(waits(world, "a", 2), (std::vector{0, 10}));
}

TEST_F(Supervisor, the_group_restarts_when_the_wait_of_the_failed_child_is_over) {
  for (auto strategy : {Strategy::one_for_all, Strategy::rest_for_one}) {
    auto supervisor = world.supervisor_of_three(
      {.strategy = strategy, .intensity = 99, .backoff = {.first = 10ms, .jitter = 0}});
    world.end("a");
    world.end("b");
    world.events();
    world.end("b");
    EXPECT_EQ(world.living(), strategy == Strategy::one_for_all ? "" : "a");
    world.advance(9ms);
    EXPECT_EQ(world.living(), strategy == Strategy::one_for_all ? "" : "a");
    world.advance(1ms);
    EXPECT_EQ(world.living(), "abc");
    EXPECT_TRUE(world.asked(supervisor, StopSupervisor{}).ok());
  }
}

// -- stop limits --

TEST_F(Supervisor, a_child_that_does_not_stop_within_its_limit_is_killed) {
  auto supervisor = world.supervisor_of_three({});
  world.chronicle->stubborn = {"b"};
  auto answer = world.ask(supervisor, StopSupervisor{});
  world.run();
  EXPECT_EQ(world.events(), "-c ~c -b"); // "a" is not asked before "b" is down.
  world.advance(999ms);
  EXPECT_EQ(world.events(), "");
  world.advance(1ms);
  EXPECT_EQ(world.events(), "~b -a ~a");
  EXPECT_TRUE(answer->ok());
}

TEST_F(Supervisor, a_child_with_a_stop_limit_of_zero_is_killed_at_once) {
  auto supervisor =
    world.supervisor({.children = {world.child("a", Restart::permanent, 0ms)}});
  world.events();
  EXPECT_TRUE(world.asked(supervisor, StopChild{"a"}).ok());
  EXPECT_EQ(world.events(), "~a");
}

TEST_F(Supervisor, a_child_without_stop_limit_is_waited_for_for_ever) {
  auto supervisor = world.supervisor(
    {.children = {world.child("a", Restart::permanent, ChildSpec::no_limit)}});
  world.chronicle->stubborn = {"a"};
  auto answer = world.ask(supervisor, StopSupervisor{});
  world.run();
  EXPECT_FALSE(world.scheduler().has_pending_timeout());
  EXPECT_EQ(answer->count, 0);
  world.end("a");
  EXPECT_TRUE(answer->ok());
}

TEST_F(Supervisor, an_old_stop_limit_does_not_kill_the_next_incarnation) {
  auto supervisor = world.supervisor_of_three({.strategy = Strategy::one_for_all});
  world.end("a"); // "b" and "c" are asked to end, and do.
  world.events();
  world.advance(5s);
  EXPECT_EQ(world.events(), "");
}

TEST_F(Supervisor, independent_children_stop_all_at_once_if_configured) {
  auto supervisor = world.supervisor_of_three({.stop_together = true});
  world.chronicle->stubborn = {"a", "b", "c"};
  auto answer = world.ask(supervisor, StopSupervisor{});
  world.run();
  EXPECT_EQ(world.events(), "-c -b -a");
  world.advance(1s);
  EXPECT_TRUE(answer->ok());
}

} // namespace
