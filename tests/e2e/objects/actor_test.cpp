// SPDX-License-Identifier: Apache-2.0
// The promise: an actor in a job is used as one of this process is.
#include <algorithm>
#include <cstddef>
#include <latch>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

#include <fiber/actor.hpp>
#include <fiber/fiber.hpp>
#include <gtest/gtest.h>

#include "fiber/detail/caf/message_type.hpp"
#include "tests/e2e/objects/actor_fixture.hpp"

namespace fiber::e2e {

struct Unknown {
  int value = 0;
};

} // namespace fiber::e2e

CAF_BEGIN_TYPE_ID_BLOCK(fiber_e2e_unknown, caf::id_block::fiber_e2e::end)
CAF_ADD_TYPE_ID(fiber_e2e_unknown, (fiber::e2e::Unknown))
CAF_END_TYPE_ID_BLOCK(fiber_e2e_unknown)
FIBER_ACTOR_MESSAGE(fiber::e2e::Unknown)

namespace fiber::e2e {
namespace {

using namespace std::chrono_literals;

INSTANTIATE_TEST_SUITE_P(On, EveryActor, testing::ValuesIn(modes()),
                         [](auto& mode) { return std::string(mode.param.name); });

TEST_P(EveryActor, is_spawned_in_a_job_by_one_line) {
  auto actor = spawn<counter>({}, 40);
  EXPECT_EQ(ask<int>(actor, add_atom_v, 1), 41);
  EXPECT_EQ(ask<int>(actor, add_atom_v, 1), 42);
  EXPECT_EQ(ask<int>(actor, pid_atom_v) == getpid(), in_process());
}

using Adder = caf::typed_actor<caf::replies_to<add_atom, int, int>::with<int>>;
Adder::behavior_type adder(Adder::pointer) {
  return {[](add_atom, int x, int y) { return x + y; }};
}

TEST_P(EveryActor, may_be_statically_typed) {
  Adder actor = spawn<adder>();
  EXPECT_EQ(ask<int>(actor, add_atom_v, 40, 2), 42);
}

class Doubler : public caf::event_based_actor {
public:
  Doubler(caf::actor_config& config, int by) : event_based_actor(config), by_(by) {}
  caf::behavior make_behavior() override {
    return {[this](int x) { return by_ * x; }};
  }

private:
  int by_;
};
void echo_once(caf::blocking_actor* self) {
  self->receive([](int x) { return x; });
}

TEST_P(EveryActor, may_be_a_class_or_block_a_thread) {
  EXPECT_EQ(ask<int>(spawn<Doubler>({}, 2), 21), 42);
  EXPECT_EQ(ask<int>(spawn<echo_once>({.restart = Restart::temporary}), 42), 42);
  EXPECT_EQ(ask<int>(spawn<Doubler>({.detached = true}, 2), 21), 42);
}

/// Answers whether as many actors can block as the scheduler has threads, while this one
/// blocks as well.
caf::behavior blocks_beside_others(caf::event_based_actor*) {
  return {[](pid_atom) { return static_cast<int>(getpid()); },
          [](list_atom) {
            auto& system = actor_system();
            auto others = static_cast<std::ptrdiff_t>(system.scheduler().num_workers());
            auto there = std::make_shared<std::latch>(others);
            for (std::ptrdiff_t i = 0; i < others; ++i)
              system.spawn(
                [](caf::event_based_actor*, const std::shared_ptr<std::latch>& all) {
                  all->arrive_and_wait();
                },
                there);
            return wait_until([&] { return there->try_wait(); });
          }};
}

TEST_P(EveryActor, that_is_detached_has_a_thread_of_its_own) {
  auto actor = spawn<blocks_beside_others>({.detached = true});
  EXPECT_TRUE(ask<bool>(actor, list_atom_v));
  if (in_process())
    return;
  // Also that which takes its place.
  kill_job(actor);
  auto again = std::optional<bool>();
  EXPECT_TRUE(wait_until([&] {
    caf::scoped_actor self{actor_system()};
    self->request(actor, patience, list_atom_v)
      .receive([&](bool there) { again = there; }, [](const caf::error&) {});
    return again.has_value();
  }));
  EXPECT_EQ(again, true);
}

TEST_P(EveryActor, takes_and_answers_what_is_declared) {
  auto actor = spawn<counter>({}, 0);
  Order order{"tea", {1, 2.5}, actor};
  auto back = ask<Order>(actor, order);
  EXPECT_EQ(back.what, "tea!");
  EXPECT_EQ(back.amounts, order.amounts);
  EXPECT_EQ(back.reply_to, actor);
  for (int i = 0; i < 3; ++i)
    caf::anon_send(actor, note_atom_v, i);
  EXPECT_EQ(ask<std::vector<double>>(actor, list_atom_v), (std::vector<double>{0, 1, 2}));
}

TEST_P(EveryActor, is_told_how_to_declare_what_is_not) {
  auto actor = spawn<counter>({}, 0);
  auto error = error_of(actor, Unknown{});
  EXPECT_EQ(error, caf::sec::invalid_argument);
  EXPECT_NE(caf::to_string(error).find("FIBER_MESSAGE(fiber::e2e::Unknown)"),
            std::string::npos)
    << caf::to_string(error);
}

TEST_P(EveryActor, answers_with_errors) {
  auto actor = spawn<counter>({}, 0);
  auto error = error_of(actor, fail_atom_v);
  EXPECT_EQ(error, caf::sec::runtime_error);
  EXPECT_NE(caf::to_string(error).find("for a reason"), std::string::npos);
  EXPECT_EQ(error_of(actor, std::string("what?")), caf::sec::unexpected_message);
}

/// Sends what comes to another one, in any process.
caf::behavior forwarder(caf::event_based_actor* self, const caf::actor& to) {
  return {[=](add_atom, int x) { return self->delegate(to, add_atom_v, x); },
          [=](note_atom, int x) { self->send(to, note_atom_v, x); },
          [=](pid_atom) { return self->delegate(to, pid_atom_v); },
          [=](const Order& order) {
            self->send(order.reply_to, static_cast<int>(order.amounts.size()));
          },
          [=](int x) {
            self->send(caf::actor_cast<caf::actor>(self->current_sender()), x + 1);
          }};
}

TEST_P(EveryActor, delegates_to_one_in_another_job) {
  auto last = spawn<counter>({}, 40);
  auto middle = spawn<forwarder>({}, last);
  auto first = spawn<forwarder>({}, middle);
  EXPECT_EQ(ask<int>(first, add_atom_v, 2), 42);
  EXPECT_EQ(ask<int>(first, pid_atom_v), ask<int>(last, pid_atom_v));
}

TEST_P(EveryActor, gets_the_messages_of_another_one_in_their_order) {
  constexpr int many = 500;
  auto last = spawn<counter>({}, 0);
  auto first = spawn<forwarder>({}, last);
  for (int i = 0; i < many; ++i)
    caf::anon_send(first, note_atom_v, i);
  std::vector<double> noted;
  EXPECT_TRUE(wait_until([&] {
    noted = ask<std::vector<double>>(last, list_atom_v);
    return noted.size() == many;
  }));
  EXPECT_TRUE(std::is_sorted(noted.begin(), noted.end()));
}

TEST_P(EveryActor, writes_to_those_of_this_process) {
  auto actor = spawn<forwarder>({}, caf::actor());
  caf::scoped_actor self{actor_system()};
  auto got = 0;
  auto receive = [&] {
    self->receive([&](int x) { got = x; },
                  caf::after(patience) >> [] { ADD_FAILURE() << "nothing came"; });
  };
  self->send(actor, Order{"", {1, 2, 3}, caf::actor(self)});
  receive();
  EXPECT_EQ(got, 3);
  self->send(actor, 41); // To its sender.
  receive();
  EXPECT_EQ(got, 42);
}

TEST_P(EveryActor, can_be_composed) {
  auto twice = spawn<Doubler>({}, 2) * spawn<Doubler>({}, 3);
  EXPECT_EQ(ask<int>(twice, 7), 42);
}

TEST_P(EveryActor, has_many_requests_under_way) {
  constexpr int many = 1000;
  auto actor = spawn<counter>({}, 0);
  caf::scoped_actor self{actor_system()};
  auto sum = 0;
  auto last = actor_system().spawn(
    [&](caf::event_based_actor* asker, int requests) {
      for (int i = 0; i < requests; ++i)
        asker->request(actor, patience, add_atom_v, 1).then([&](int now) { sum = now; });
    },
    many);
  self->wait_for(last);
  EXPECT_EQ(sum, many);
}

caf::behavior parent(caf::event_based_actor* self) {
  auto child = spawn<counter>({}, 40);
  return {[=](add_atom, int x) { return self->delegate(child, add_atom_v, x); }};
}

TEST_P(EveryActor, spawns_others) {
  EXPECT_EQ(ask<int>(spawn<parent>(), add_atom_v, 2), 42);
}

TEST_P(EveryActor, is_an_argument_of_tasks) {
  auto actor = spawn<counter>({}, 40);
  Pool pool(1);
  auto task = [](const caf::actor& of, int x) {
    int result = 0;
    caf::scoped_actor self{actor_system()};
    self->request(of, caf::infinite, add_atom_v, x)
      .receive([&](int sum) { result = sum; }, [](const caf::error&) {});
    return result;
  };
  EXPECT_EQ(pool.apply(task, actor, 2), 42);
}

TEST_P(EveryActor, of_another_session_is_refused) {
  Bytes bytes;
  {
    auto actor = spawn<counter>({}, 0);
    Writer writer(bytes);
    pack(writer, actor);
  }
  close();
  open(GetParam().config);
  Reader reader(bytes);
  EXPECT_THROW(unpack<caf::actor>(reader), Error);
}

TEST_P(EveryActor, needs_resources_that_make_sense) {
  EXPECT_THROW(spawn<counter>({.resources = {.cpu = -1}}, 0), ConfigError);
}

} // namespace
} // namespace fiber::e2e
