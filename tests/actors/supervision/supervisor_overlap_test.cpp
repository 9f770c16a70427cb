// SPDX-License-Identifier: Apache-2.0
// The promise: after failed starts, and events that come while another one is handled, no
// child is left behind or started twice, and each request is answered once.

#include <gtest/gtest.h>

#include "tests/actors/supervision/supervised_world.hpp"

using namespace fiber;
using namespace fiber::actors;
using namespace std::chrono_literals;

namespace {

class SupervisorOverlap : public ::testing::Test {
protected:
  SupervisedWorld world;
  SupervisorConfig steady{.intensity = 99, .backoff = {.first = 10ms, .jitter = 0}};
};

// -- starts that fail --

TEST_F(SupervisorOverlap, a_first_start_that_throws_is_tried_again) {
  auto supervisor = world.supervisor(steady);
  world.chronicle->failing_starts["a"] = 2;
  auto answer = world.asked(supervisor, StartChild{world.child("a")});
  ASSERT_TRUE(answer.ok());
  EXPECT_FALSE(answer.info->alive);
  EXPECT_EQ(answer.info->last_error, "could not be started: no room");
  EXPECT_EQ(world.events(), "xa xa"); // The second one at once, the third after 10 ms.
  world.advance(10ms);
  EXPECT_EQ(world.events(), "+a");
  EXPECT_EQ(world.asked(supervisor, ListChildren{}).list.at(0).restarts, 0);
}

TEST_F(SupervisorOverlap,
       a_start_that_returns_nothing_or_anything_but_an_exception_is_a_loss) {
  auto supervisor = world.supervisor(steady);
  auto spec = world.child("a");
  spec.start = [](auto*) { return caf::actor(); };
  EXPECT_EQ(world.asked(supervisor, StartChild{spec}).info.value().last_error,
            "could not be started: it returned no actor");
  spec.name = "b";
  spec.start = [](auto*) -> caf::actor { throw 42; };
  EXPECT_EQ(world.asked(supervisor, StartChild{spec}).info.value().last_error,
            "could not be started: unknown exception");
}

TEST_F(SupervisorOverlap, two_children_can_not_be_one_actor) {
  auto supervisor = world.supervisor(steady);
  ASSERT_TRUE(world.asked(supervisor, StartChild{world.child("a")}).ok());
  auto spec = world.child("b", Restart::temporary);
  spec.start = [a = world.chronicle->newest["a"]](auto*) { return a; };
  EXPECT_EQ(world.asked(supervisor, StartChild{spec}).error,
            "could not be started: it returned another child's actor");
  EXPECT_EQ(world.living(), "a");
}

TEST_F(SupervisorOverlap, a_start_that_returns_a_dead_actor_is_a_loss) {
  auto supervisor = world.supervisor({.intensity = 3});
  auto spec = world.child("a", Restart::permanent, 0ms); // Its end will be a kill.
  ASSERT_TRUE(world.asked(supervisor, StartChild{spec}).ok());
  auto dead = world.chronicle->newest["a"];
  ASSERT_TRUE(world.asked(supervisor, StopChild{"a"}).ok());
  spec.start = [dead](auto*) { return dead; };
  world.ask(supervisor, StartChild{spec});
  world.run();
  for (int i = 0; i < 9; ++i)
    world.advance(1s);
  EXPECT_FALSE(world.is_alive(supervisor));
}

TEST_F(SupervisorOverlap, a_temporary_child_that_can_not_be_started_is_refused) {
  auto supervisor = world.supervisor(steady);
  world.chronicle->failing_starts["a"] = 1;
  auto spec = world.child("a", Restart::temporary);
  auto answer = world.asked(supervisor, StartChild{spec});
  EXPECT_EQ(answer.error, "could not be started: no room");
  EXPECT_EQ(world.asked(supervisor, ListChildren{}).list.size(), 0u);
  EXPECT_TRUE(world.asked(supervisor, StartChild{spec}).ok()); // The name is free.
}

TEST_F(SupervisorOverlap, starts_that_fail_too_often_make_the_supervisor_give_up) {
  auto supervisor =
    world.supervisor({.name = "crew", .intensity = 3, .children = {world.child("a")}});
  world.chronicle->failing_starts["b"] = 99;
  auto answer = world.asked(supervisor, StartChild{world.child("b")});
  EXPECT_EQ(answer.count, 1);
  for (int i = 0; i < 9; ++i)
    world.advance(1s);
  EXPECT_EQ(world.events(), "+a xb xb xb xb -a ~a");
  EXPECT_EQ(exit_text(world.end_of(supervisor).value()),
            "child \"b\" of crew failed; 4 failures within 10000 ms, last: "
            "[b: could not be started: no room]");
}

TEST_F(SupervisorOverlap, a_supervisor_that_gives_up_at_once_refuses_and_ends) {
  auto supervisor = world.supervisor({.name = "crew", .intensity = 0});
  world.chronicle->failing_starts["b"] = 1;
  auto answer = world.asked(supervisor, StartChild{world.child("b")});
  EXPECT_EQ(answer.error.find("crew is stopping: child \"b\" of crew failed"), 0u)
    << answer.error;
  EXPECT_EQ(exit_kind(world.end_of(supervisor).value()), ExitKind::escalated);
}

TEST_F(SupervisorOverlap, a_supervisor_may_give_up_before_it_is_born) {
  world.chronicle->failing_starts = {{"b", 1}};
  auto supervisor = world.supervisor(
    {.intensity = 0, .children = {world.child("a"), world.child("b"), world.child("c")}});
  EXPECT_EQ(world.events(), "+a xb -a ~a");
  EXPECT_EQ(exit_kind(world.end_of(supervisor).value()), ExitKind::escalated);
  world.chronicle->failing_starts = {{"a", 1}};
  supervisor =
    world.supervisor({.intensity = 0, .children = {world.child("a"), world.child("b")}});
  EXPECT_EQ(world.events(), "xa");
  EXPECT_EQ(exit_kind(world.end_of(supervisor).value()), ExitKind::escalated);
}

TEST_F(SupervisorOverlap,
       a_restart_that_throws_stops_and_restarts_what_the_strategy_says) {
  for (auto [strategy, first, then] :
       {std::tuple{Strategy::one_for_all, "~a -c ~c -b ~b +a xb -a ~a +a +b +c", ""},
        std::tuple{Strategy::rest_for_one, "~a -c ~c -b ~b +a xb +b +c", ""}}) {
    steady.strategy = strategy;
    auto supervisor = world.supervisor_of_three(steady);
    world.chronicle->failing_starts["b"] = 1;
    world.end("a");
    EXPECT_EQ(world.events(), first);
    world.advance(1s);
    EXPECT_EQ(world.events(), then);
    EXPECT_TRUE(world.asked(supervisor, StopSupervisor{}).ok());
    world.events();
  }
}

TEST_F(SupervisorOverlap, starts_that_fail_for_ever_let_other_messages_through) {
  auto supervisor = world.supervisor({.intensity = 1 << 30, .backoff = {.first = 0ms}});
  world.chronicle->failing_starts["a"] = 1 << 30;
  world.ask(supervisor, StartChild{world.child("a")});
  world.scheduler().run(1000);
  caf::anon_send(supervisor, StopSupervisor{});
  world.scheduler().run(1000);
  EXPECT_FALSE(world.is_alive(supervisor));
}

// -- names --

TEST_F(SupervisorOverlap, a_name_is_taken_until_its_child_is_gone) {
  auto supervisor = world.supervisor_of_three({.name = "crew"});
  EXPECT_EQ(world.asked(supervisor, StartChild{world.child("b")}).error,
            "crew has a child \"b\" already");
  world.chronicle->stubborn = {"b"};
  auto stopped = world.ask(supervisor, StopChild{"b"});
  world.run();
  EXPECT_FALSE(world.asked(supervisor, StartChild{world.child("b")}).ok());
  world.advance(1s);
  EXPECT_TRUE(stopped->ok());
  EXPECT_TRUE(world.asked(supervisor, StartChild{world.child("b")}).ok());
  EXPECT_EQ(world.asked(supervisor, StopChild{"x"}).error, "crew has no child \"x\"");
}

// -- StopChild at a bad moment --

TEST_F(SupervisorOverlap, a_stopped_child_is_not_restarted_and_does_not_count) {
  for (auto strategy :
       {Strategy::one_for_one, Strategy::one_for_all, Strategy::rest_for_one}) {
    auto supervisor = world.supervisor_of_three({.strategy = strategy, .intensity = 0});
    EXPECT_TRUE(world.asked(supervisor, StopChild{"b"}).ok());
    EXPECT_EQ(world.events(), "-b ~b");
    world.advance(20s);
    EXPECT_EQ(world.living(), "ac");
    EXPECT_TRUE(world.asked(supervisor, StopSupervisor{}).ok());
    world.events();
  }
}

TEST_F(SupervisorOverlap, a_child_that_fails_while_it_is_stopped_is_stopped) {
  auto supervisor = world.supervisor_of_three({.intensity = 0});
  world.chronicle->stubborn = {"b"};
  auto first = world.ask(supervisor, StopChild{"b"});
  auto second = world.ask(supervisor, StopChild{"b"});
  world.run();
  EXPECT_EQ(first->count, 0);
  world.end("b");
  EXPECT_TRUE(first->ok());
  EXPECT_TRUE(second->ok());
  EXPECT_EQ(world.living(), "ac");
  EXPECT_TRUE(world.is_alive(supervisor));
}

TEST_F(SupervisorOverlap, a_child_can_be_stopped_during_its_back_off) {
  auto supervisor = world.supervisor_of_three(steady);
  world.end("b");
  world.end("b");
  EXPECT_EQ(world.living(), "ac");
  EXPECT_TRUE(world.asked(supervisor, StopChild{"b"}).ok());
  world.advance(1s);
  EXPECT_EQ(world.living(), "ac");
  EXPECT_TRUE(world.asked(supervisor, StartChild{world.child("b")}).ok());
  EXPECT_EQ(world.living(), "abc");
}

TEST_F(SupervisorOverlap,
       a_group_does_not_wait_for_a_child_that_was_stopped_during_its_back_off) {
  for (auto strategy : {Strategy::one_for_all, Strategy::rest_for_one}) {
    steady.strategy = strategy;
    auto supervisor = world.supervisor_of_three(steady);
    world.end("a");
    world.end("a");
    EXPECT_EQ(world.living(), "");
    EXPECT_TRUE(world.asked(supervisor, StopChild{"a"}).ok());
    EXPECT_EQ(world.living(), "bc");
    EXPECT_TRUE(world.asked(supervisor, StopSupervisor{}).ok());
  }
}

TEST_F(SupervisorOverlap, a_child_can_be_stopped_while_a_group_restart_stops_it) {
  steady.strategy = Strategy::one_for_all;
  auto supervisor = world.supervisor_of_three(steady);
  world.chronicle->stubborn = {"b", "c"};
  world.end("a");
  auto stop_c = world.ask(supervisor, StopChild{"c"}); // Being stopped.
  auto stop_b = world.ask(supervisor, StopChild{"b"}); // Next.
  world.run();
  EXPECT_EQ(world.events(), "~a -c -b");
  world.end("b");
  EXPECT_EQ(world.events(), "~b");
  EXPECT_TRUE(stop_b->ok());
  world.advance(1s);
  EXPECT_EQ(world.events(), "~c +a");
  EXPECT_TRUE(stop_c->ok());
}

// -- deaths at a bad moment --

TEST_F(SupervisorOverlap, a_child_that_dies_while_the_group_is_stopped_counts_but_once) {
  auto supervisor =
    world.supervisor_of_three({.strategy = Strategy::one_for_all, .intensity = 1});
  world.chronicle->stubborn = {"c"};
  world.end("a");
  EXPECT_EQ(world.events(), "~a -c");
  world.end("b"); // Before it was asked to end.
  EXPECT_EQ(world.events(), "~b");
  world.end("c");
  EXPECT_EQ(world.events(), "~c +a +b +c");
  EXPECT_TRUE(world.is_alive(supervisor));
}

TEST_F(SupervisorOverlap,
       two_children_that_die_at_the_same_time_are_restarted_once_in_order) {
  auto supervisor =
    world.supervisor_of_three({.strategy = Strategy::rest_for_one, .intensity = 1});
  world.send_end("b", ExitKind::lost);
  world.send_end("c", ExitKind::lost);
  world.run();
  EXPECT_EQ(world.events(), "~b ~c +b +c");
  EXPECT_TRUE(world.is_alive(supervisor));
}

TEST_F(SupervisorOverlap, the_later_of_two_children_may_be_the_first_to_die) {
  auto supervisor =
    world.supervisor_of_three({.strategy = Strategy::rest_for_one, .intensity = 2});
  world.send_end("c", ExitKind::lost);
  world.send_end("b", ExitKind::lost);
  world.run();
  EXPECT_EQ(world.events(), "~c ~b +c -c ~c +b +c");
  EXPECT_EQ(world.living(), "abc");
}

TEST_F(SupervisorOverlap, an_earlier_child_that_dies_meanwhile_widens_the_group) {
  auto supervisor = world.supervisor_of_three({.strategy = Strategy::rest_for_one});
  world.chronicle->stubborn = {"c"};
  world.end("b");
  EXPECT_EQ(world.events(), "~b -c");
  world.end("a");
  EXPECT_EQ(world.events(), "~a"); // Not before "c" is down.
  world.end("c");
  EXPECT_EQ(world.events(), "~c +a +b +c");
}

TEST_F(SupervisorOverlap, an_earlier_child_restarts_while_a_later_one_waits) {
  steady.strategy = Strategy::rest_for_one;
  auto supervisor = world.supervisor_of_three(steady);
  world.end("b");
  world.end("b");
  EXPECT_EQ(world.living(), "a");
  world.events();
  world.end("a");
  EXPECT_EQ(world.events(), "~a +a");
  world.advance(10ms);
  EXPECT_EQ(world.events(), "+b +c");
}

TEST_F(SupervisorOverlap, late_news_of_an_earlier_incarnation_are_ignored) {
  auto supervisor =
    world.supervisor_of_three({.strategy = Strategy::one_for_all, .intensity = 1});
  auto old = world.chronicle->newest["a"];
  world.end("a");
  world.events();
  for (int i = 0; i < 3; ++i)
    caf::anon_send(supervisor,
                   caf::down_msg{old.address(), make_exit(ExitKind::lost, "late")});
  world.run();
  EXPECT_EQ(world.events(), "");
  EXPECT_TRUE(world.is_alive(supervisor));
}

TEST_F(SupervisorOverlap, news_of_a_stranger_are_ignored_while_a_child_is_down) {
  auto supervisor = world.supervisor_of_three(steady);
  world.end("a");
  world.end("a");
  world.events();
  caf::anon_send(supervisor, caf::down_msg{caf::actor_addr(), {}});
  world.run();
  EXPECT_EQ(world.events(), "");
}

// -- StartChild and StopSupervisor at a bad moment --

TEST_F(SupervisorOverlap, a_new_child_joins_a_group_that_is_being_restarted) {
  for (auto strategy : {Strategy::one_for_all, Strategy::rest_for_one}) {
    steady.strategy = strategy;
    auto supervisor = world.supervisor_of_three(steady);
    world.chronicle->stubborn = {"c"};
    world.end("a");
    auto answer = world.asked(supervisor, StartChild{world.child("d")});
    ASSERT_TRUE(answer.ok());
    EXPECT_FALSE(answer.info->alive);
    world.events();
    world.advance(1s);
    EXPECT_EQ(world.events(), "~c -b ~b +a +b +c +d");
    world.chronicle->stubborn = {};
    world.end("a"); // Now it has to wait.
    EXPECT_TRUE(world.asked(supervisor, StartChild{world.child("e")}).ok());
    EXPECT_EQ(world.living(), "");
    world.advance(10ms);
    EXPECT_EQ(world.living(), "abcde");
    EXPECT_TRUE(world.asked(supervisor, StopSupervisor{}).ok());
    world.events();
  }
}

TEST_F(SupervisorOverlap, a_new_child_does_not_wait_for_the_back_off_of_another) {
  auto supervisor = world.supervisor_of_three(steady);
  world.end("a");
  world.end("a");
  EXPECT_TRUE(world.asked(supervisor, StartChild{world.child("d")}).info.value().alive);
  EXPECT_EQ(world.living(), "bcd");
}

TEST_F(SupervisorOverlap, a_supervisor_that_stops_takes_no_child) {
  auto supervisor = world.supervisor_of_three({.name = "crew"});
  world.chronicle->stubborn = {"c"};
  auto first = world.ask(supervisor, StopSupervisor{});
  auto second = world.ask(supervisor, StopSupervisor{});
  world.run();
  EXPECT_EQ(world.asked(supervisor, StartChild{world.child("d")}).error,
            "crew is stopping");
  auto stop_a = world.ask(supervisor, StopChild{"a"});
  auto stop_c = world.ask(supervisor, StopChild{"c"});
  world.run();
  EXPECT_TRUE(stop_a->ok());
  EXPECT_EQ(stop_c->count, 0);
  world.advance(1s);
  EXPECT_TRUE(stop_c->ok());
  EXPECT_TRUE(first->ok());
  EXPECT_TRUE(second->ok());
  EXPECT_EQ(world.events(), "-c -a ~a ~c -b ~b");
}

TEST_F(SupervisorOverlap, stop_while_a_group_is_restarted_starts_nothing) {
  for (auto strategy : {Strategy::one_for_all, Strategy::rest_for_one}) {
    auto supervisor = world.supervisor_of_three({.strategy = strategy});
    world.chronicle->stubborn = {"c"};
    world.end("b");
    auto answer = world.ask(supervisor, StopSupervisor{});
    world.run();
    world.events();
    world.advance(1s);
    EXPECT_EQ(world.events(), "~c -a ~a");
    EXPECT_TRUE(answer->ok());
  }
}

TEST_F(SupervisorOverlap, stop_during_a_back_off_starts_nothing) {
  auto supervisor = world.supervisor_of_three(steady);
  world.end("b");
  world.end("b");
  world.events();
  EXPECT_TRUE(world.asked(supervisor, StopSupervisor{}).ok());
  world.advance(1s);
  EXPECT_EQ(world.events(), "-c ~c -a ~a");
}

TEST_F(SupervisorOverlap, a_child_that_dies_while_all_are_stopped_changes_nothing) {
  auto supervisor = world.supervisor_of_three({.intensity = 0});
  world.chronicle->stubborn = {"c"};
  auto answer = world.ask(supervisor, StopSupervisor{});
  world.run();
  world.end("a");
  world.end("c");
  EXPECT_EQ(world.events(), "-c ~a ~c -b ~b");
  EXPECT_TRUE(answer->ok());
  EXPECT_FALSE(*world.end_of(supervisor)); // A normal end.
}

TEST_F(SupervisorOverlap, giving_up_answers_what_is_open) {
  auto supervisor = world.supervisor_of_three({.intensity = 0});
  world.chronicle->stubborn = {"b", "c"};
  auto stop_c = world.ask(supervisor, StopChild{"c"});
  world.run();
  world.end("a");
  auto stopped = world.ask(supervisor, StopSupervisor{});
  world.run();
  world.advance(1s);
  world.advance(1s);
  EXPECT_TRUE(stop_c->ok());
  EXPECT_TRUE(stopped->ok());
  EXPECT_EQ(world.living(), "");
  EXPECT_EQ(exit_kind(world.end_of(supervisor).value()), ExitKind::escalated);
}

TEST_F(SupervisorOverlap, a_kill_answers_what_is_open) {
  auto supervisor = world.supervisor_of_three({.name = "crew"});
  world.chronicle->stubborn = {"b", "c"};
  auto stop_b = world.ask(supervisor, StopChild{"b"});
  auto stop_all = world.ask(supervisor, StopSupervisor{});
  world.run();
  caf::anon_send_exit(supervisor, caf::exit_reason::kill);
  world.run();
  EXPECT_EQ(stop_b->error, "crew was killed");
  EXPECT_EQ(stop_all->error, "crew was killed");
  EXPECT_EQ(world.living(), "");
}

} // namespace
