// SPDX-License-Identifier: Apache-2.0
// The promise: a call on a managed object is passed on once and in order, waits while
// there is no host, and fails when its host is lost, unless it may be repeated; the next
// host has all objects that somebody holds.
#include <exception>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "tests/actors/manager/managed_objects_fixture.hpp"

namespace fiber::actors {
namespace {

const std::string lost_call =
  "lost, signal 9: the job of the object was lost, and the call may have run: "
  "killed by SIGKILL";

TEST_F(ManagedObjectsTest, a_call_made_before_there_is_a_host_waits_for_it) {
  auto object = add("a");
  auto outcome = call(object, "x");
  EXPECT_EQ(result(outcome), "waiting");
  EXPECT_FALSE(objects->is_up());
  start_host();
  EXPECT_TRUE(objects->is_up());
  EXPECT_EQ(ups, 1);
  EXPECT_EQ(host->seen, "create 2 a, call 2 x");
  EXPECT_EQ(result(outcome), "waiting");
  answer("call 2 x", "done");
  EXPECT_EQ(result(outcome), "done");
}

TEST_F(ManagedObjectsTest, calls_wait_until_the_host_has_made_all_objects) {
  auto a = add("a"), b = add("b");
  call(a, "x");
  start_host(false);
  EXPECT_EQ(host->seen, "create 2 a, create 3 b");
  host->answer("create 3 b", {.what = Answer::done});
  run();
  EXPECT_FALSE(objects->is_up());
  EXPECT_EQ(host->seen, "create 2 a, create 3 b");
  host->answer("create 2 a", {.what = Answer::done});
  run();
  EXPECT_TRUE(objects->is_up());
  EXPECT_EQ(host->seen, "create 2 a, create 3 b, call 2 x");
}

TEST_F(ManagedObjectsTest, a_job_cannot_name_a_host_of_another_process) {
  auto foreign = at(2).add(std::make_shared<NotingHost>(at(2).shared_from_this()));
  auto outcome = std::make_shared<std::optional<ObjectAnswer>>();
  at(1).ask(
    control->held_id(), AskKind::call, packed(0, ObjectOp::ready),
    {at(1).hold(foreign->held_id())},
    [outcome](std::uint64_t, ObjectAnswer answer) { *outcome = std::move(answer); });
  run();
  ASSERT_TRUE(*outcome);
  EXPECT_EQ((*outcome)->what, Answer::refused);
  EXPECT_FALSE(objects->is_up());
  start_host();
  EXPECT_TRUE(objects->is_up());
}

TEST_F(ManagedObjectsTest, calls_on_one_object_keep_their_order) {
  auto object = add("a");
  call(object, "1");
  call(object, "2", ObjectOp::repeat, 2);
  start_host(false);
  call(object, "3");
  EXPECT_EQ(host->seen, "create 2 a");
  host->answer("create 2 a", {.what = Answer::done});
  run();
  call(object, "4", ObjectOp::call, 3);
  call(object, "5");
  EXPECT_EQ(host->seen, "create 2 a, call 2 1, repeat 2 2, call 2 3, call 2 4, call 2 5");
}

TEST_F(ManagedObjectsTest, a_call_of_the_host_itself_does_not_wait_for_other_objects) {
  auto a = add("a"), b = add("b");
  call(b, "later");
  start_host(false); // The constructor of `a` may call `b`.
  call(b, "now", ObjectOp::call, 1);
  EXPECT_EQ(host->seen, "create 2 a, create 3 b, call 3 now");
}

TEST_F(ManagedObjectsTest, a_call_fails_if_its_host_is_lost) {
  auto object = add("a");
  start_host();
  auto here = call(object, "x"), there = call(object, "y", ObjectOp::call, 2);
  break_host();
  EXPECT_EQ(result(here), "waiting"); // Nobody knows the reason yet.
  auto later = call(object, "z");
  objects->lost(killed(), false);
  run();
  EXPECT_EQ(result(here), lost_call);
  EXPECT_EQ(result(there), lost_call);
  EXPECT_EQ(result(later), lost_call); // It was made before the loss was known.
  auto last = call(object, "last");
  EXPECT_EQ(result(last), "waiting");
  start_host();
  EXPECT_EQ(host->seen, "remake 2 a, call 2 last");
}

TEST_F(ManagedObjectsTest, an_idempotent_call_goes_to_the_next_host_before_later_calls) {
  auto object = add("a");
  start_host();
  auto first = repeat(object, "1");
  auto second = call(object, "2");
  auto third = repeat(object, "3");
  break_host();
  objects->lost(killed(), false);
  auto fourth = call(object, "4");
  EXPECT_EQ(result(second), lost_call);
  start_host();
  EXPECT_EQ(host->seen, "remake 2 a, repeat 2 1, repeat 2 3, call 2 4");
  answer("repeat 2 3", "third");
  answer("repeat 2 1", "first");
  EXPECT_EQ(result(first), "first");
  EXPECT_EQ(result(third), "third");
  EXPECT_EQ(result(fourth), "waiting");
}

TEST_F(ManagedObjectsTest, an_idempotent_call_survives_any_number_of_losses) {
  auto object = add("a");
  start_host();
  auto outcome = repeat(object, "x");
  for (int i = 0; i < 3; ++i) {
    lose_host(false);
    EXPECT_EQ(result(outcome), "waiting");
    start_host();
    EXPECT_EQ(host->seen, "remake 2 a, repeat 2 x");
  }
  answer("repeat 2 x", "done");
  EXPECT_EQ(result(outcome), "done");
}

TEST_F(ManagedObjectsTest, no_call_is_repeated_if_hosts_are_not_replaced) {
  open(false);
  auto object = add("a");
  start_host();
  auto outcome = repeat(object, "x");
  lose_host(true);
  EXPECT_EQ(result(outcome), lost_call);
  EXPECT_EQ(result(call(object, "y")), lost_call);
}

TEST_F(ManagedObjectsTest, after_the_last_loss_every_waiting_call_gets_the_reason) {
  auto object = add("a");
  start_host();
  auto repeated = repeat(object, "x");
  lose_host(false);
  auto waiting = call(object, "y"), there = call(object, "z", ObjectOp::call, 2);
  auto creation = create("b");
  objects->lost(killed(), true);
  run();
  for (auto& outcome : {repeated, waiting, there, creation})
    EXPECT_EQ(result(outcome), lost_call);
  EXPECT_EQ(result(call(object, "later", ObjectOp::call, 3)), lost_call);
}

TEST_F(ManagedObjectsTest, after_give_up_calls_get_the_reason_unchanged) {
  auto object = add("a");
  auto here = call(object, "x"), there = call(object, "y", ObjectOp::call, 2);
  objects->give_up(std::make_exception_ptr(Closed("no room")));
  run();
  EXPECT_EQ(result(here), "no room");
  EXPECT_EQ(result(there), "lost, exit unknown: no room");
  EXPECT_EQ(result(call(object, "z")), "no room");
}

TEST_F(ManagedObjectsTest, objects_are_remade_in_the_next_host_in_the_order_of_creation) {
  objects->set_restore([] {});
  auto a = add("a");
  start_host();
  auto creation = create("b");
  auto b = made(creation);
  ASSERT_TRUE(b);
  EXPECT_EQ(host->seen, "create 2 a, create 3 b");
  lose_host(false);
  auto outcome = call(b, "x");
  start_host();
  EXPECT_EQ(host->seen, "remake 2 a, remake 3 b, restore, call 3 x");
  answer("call 3 x", "done");
  EXPECT_EQ(result(outcome), "done");
  EXPECT_EQ(ups, 2);
}

TEST_F(ManagedObjectsTest, a_failed_remake_is_reported_once_and_calls_wait) {
  auto a = add("a"), b = add("b");
  start_host();
  lose_host(false);
  auto outcome = call(a, "x");
  start_host(false);
  for (auto text : {"remake 2 a", "remake 3 b"}) {
    Bytes bytes;
    Writer writer(bytes);
    write(writer, Failure{"std::runtime_error", "no file", {}, {}});
    host->answer(text, {.what = Answer::failed, .body = Payload(std::move(bytes))});
  }
  run();
  ASSERT_EQ(failures.size(), 1U);
  EXPECT_THROW(std::rethrow_exception(failures.front()), RemoteError);
  EXPECT_FALSE(objects->is_up());
  EXPECT_EQ(result(outcome), "waiting");
  break_host();
  objects->lost(failures.front(), false);
  start_host();
  EXPECT_EQ(host->seen, "remake 2 a, remake 3 b, call 2 x");
}

TEST_F(ManagedObjectsTest, an_object_that_nobody_holds_is_destroyed) {
  start_host();
  auto creation = create("a");
  auto object = made(creation);
  ASSERT_TRUE(object);
  auto elsewhere = at(2).hold(object->held_id());
  run();
  creation->reset();
  object = nullptr;
  run();
  EXPECT_EQ(host->seen, "create 2 a");
  elsewhere = nullptr;
  run();
  EXPECT_EQ(host->seen, "create 2 a, destroy 2");
  lose_host(false);
  start_host();
  EXPECT_EQ(host->seen, ""); // It is not remade.
}

TEST_F(ManagedObjectsTest, an_object_is_destroyed_after_the_calls_that_wait_for_a_host) {
  auto object = add("a");
  call(object, "x");
  object = nullptr;
  start_host();
  EXPECT_EQ(host->seen, "create 2 a, call 2 x, destroy 2");
}

TEST_F(ManagedObjectsTest, a_call_that_a_restarting_host_gave_back_keeps_its_place) {
  auto object = add("a");
  start_host();
  auto first = call(object, "1"), second = call(object, "2");
  EXPECT_TRUE(objects->stop(killed(), true));
  auto third = call(object, "3");
  EXPECT_EQ(host->seen, "create 2 a, call 2 1, call 2 2, stop at once");
  host->give_back("call 2 2");
  answer("call 2 1", "first");
  EXPECT_EQ(result(first), "first");
  EXPECT_EQ(result(second), "waiting");
  lose_host(false);
  EXPECT_EQ(result(second), "waiting");
  start_host();
  EXPECT_EQ(host->seen, "remake 2 a, call 2 2, call 2 3");
}

TEST_F(ManagedObjectsTest, an_idempotent_call_that_a_stopping_host_had_keeps_its_place) {
  auto object = add("a");
  start_host();
  auto first = repeat(object, "1");
  objects->stop(killed(), true);
  auto second = call(object, "2");
  lose_host(false);
  start_host();
  EXPECT_EQ(host->seen, "remake 2 a, repeat 2 1, call 2 2");
  answer("repeat 2 1", "done");
  EXPECT_EQ(result(first), "done");
  EXPECT_EQ(result(second), "waiting");
}

TEST_F(ManagedObjectsTest, a_call_that_a_last_host_gave_back_fails_with_the_reason) {
  auto object = add("a");
  start_host();
  auto first = call(object, "1"), second = repeat(object, "2");
  EXPECT_TRUE(objects->stop(std::make_exception_ptr(Closed("it ends")), false));
  host->give_back("call 2 1");
  host->give_back("repeat 2 2");
  run();
  EXPECT_EQ(result(first), "it ends");
  EXPECT_EQ(result(second), "it ends");
}

TEST_F(ManagedObjectsTest, a_creation_that_was_given_back_makes_one_object) {
  start_host(false);
  auto creation = create("a");
  EXPECT_EQ(host->seen, "create 2 a");
  objects->stop(killed(), true);
  host->give_back("create 2 a");
  run();
  lose_host(false);
  start_host();
  EXPECT_EQ(host->seen, "create 3 a, destroy 2");
  EXPECT_TRUE(made(creation));
}

TEST_F(ManagedObjectsTest, a_call_can_be_cancelled_until_a_host_has_begun_it) {
  auto object = add("a");
  auto waiting = call(object, "x");
  at(0).tell(object->held_id(), last_request, AskKind::cancel);
  EXPECT_EQ(result(waiting), "cancelled");
  start_host();
  auto passed = repeat(object, "y");
  at(0).tell(object->held_id(), last_request, AskKind::cancel);
  run();
  EXPECT_EQ(host->seen, "create 2 a, repeat 2 y, cancel");
  EXPECT_EQ(host->asks.back().who, host->asks[1].who);
  EXPECT_EQ(result(passed), "waiting");
  lose_host(false);
  at(0).tell(object->held_id(), last_request, AskKind::cancel);
  EXPECT_EQ(result(passed), lost_call); // It may have run.
}

TEST_F(ManagedObjectsTest, the_waiting_calls_of_a_dead_process_are_forgotten) {
  auto object = add("a");
  call(object, "1", ObjectOp::call, 2);
  call(object, "2", ObjectOp::call, 3);
  lose(2);
  start_host();
  EXPECT_EQ(host->seen, "create 2 a, call 2 2");
}

TEST_F(ManagedObjectsTest, a_malformed_request_is_refused) {
  auto object = add("a");
  start_host();
  auto a = object->held_id(), c = control->held_id();
  EXPECT_EQ(result(request(2, a, {})), "refused");
  EXPECT_EQ(result(request(2, a, payload_of("12345678"))), "refused");
  EXPECT_EQ(result(request(2, a, packed(9, ObjectOp::call))), "refused");
  EXPECT_EQ(result(request(2, a, packed(2, ObjectOp::destroy))), "refused");
  EXPECT_EQ(result(request(2, a, packed(2, ObjectOp{99}))), "refused");
  EXPECT_EQ(result(request(2, a, packed(2, ObjectOp::call), AskKind::size)), "refused");
  EXPECT_EQ(result(request(2, c, packed(0, ObjectOp::create, "b"))), "refused");
  EXPECT_EQ(result(request(0, c, packed(0, ObjectOp::stop))), "refused");
  EXPECT_EQ(host->seen, "create 2 a");
}

TEST_F(ManagedObjectsTest, a_job_that_names_no_entry_point_is_cut_off) {
  auto object = add("a");
  start_host();
  auto a = object->held_id();
  auto named = [&](const void* code, detail::CodeKind kind, std::uint8_t behind = 0) {
    Bytes body;
    Writer writer(body);
    writer.put(a.number);
    writer.put(ObjectOp::call);
    detail::pack_code(writer, code, kind);
    auto& low = body[body.size() - sizeof(std::uint64_t)]; // The lowest byte of 64 bits.
    low = static_cast<std::byte>(std::to_integer<std::uint8_t>(low) + behind);
    return Payload(std::move(body));
  };
  auto call = detail::code_of(&call_nothing);
  EXPECT_EQ(result(request(2, a, named(call, detail::CodeKind::call_object))), "waiting");
  EXPECT_EQ(host->seen, "create 2 a, call 2");
  // The driver ends a link whose messages it can't read.
  for (const auto& lie : {named(call, detail::CodeKind::call_object, 1),
                          named(detail::code_of(&is_call), detail::CodeKind::function)})
    EXPECT_THROW(request(2, a, lie), Error);
  EXPECT_THROW(request(2, a, packed(a.number, ObjectOp::call).slice(0, 20)), Error);
  EXPECT_EQ(host->seen, "create 2 a, call 2");
}

TEST_F(ManagedObjectsTest, of_a_library_that_only_the_host_has_a_call_is_passed_on) {
  auto object = add("a");
  start_host();
  auto a = object->held_id();
  Bytes bytes;
  Writer writer(bytes);
  writer.put(a.number);
  writer.put(ObjectOp::call);
  writer.text("/usr/lib/libmissing.so");
  writer.text("not a build id");
  writer.put(std::uint64_t{64});
  EXPECT_EQ(result(request(2, a, Payload(std::move(bytes)))), "waiting");
  EXPECT_EQ(host->asks.size(), 2U);
}

TEST_F(ManagedObjectsTest, after_the_end_calls_are_closed_and_a_late_host_is_stopped) {
  auto object = add("a");
  auto waiting = call(object, "x");
  auto asked = 0;
  objects->end([&] { ++asked; });
  EXPECT_EQ(asked, 1); // There is no host to wait for.
  EXPECT_EQ(result(waiting), "closed");
  start_host();
  EXPECT_EQ(host->seen, "stop at once");
  EXPECT_EQ(result(call(object, "y")), "closed");
}

TEST_F(ManagedObjectsTest, the_end_is_acknowledged_by_the_host) {
  auto object = add("a");
  start_host();
  auto running = call(object, "x");
  auto asked = 0;
  objects->end([&] { ++asked; });
  run();
  EXPECT_EQ(host->seen, "create 2 a, call 2 x, stop in turn");
  EXPECT_EQ(asked, 0);
  answer("call 2 x", "done");
  EXPECT_EQ(result(running), "done");
  host->answer("stop in turn", {.what = Answer::done});
  run();
  EXPECT_EQ(asked, 1);
}

} // namespace
} // namespace fiber::actors
