// SPDX-License-Identifier: Apache-2.0
// The promise: an actor in a job is used as one of this process is; when its job dies its
// proxy lives on, and monitors hear of the final end only.
#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

#include <fiber/actor.hpp>
#include <fiber/fiber.hpp>
#include <gtest/gtest.h>

#include "tests/e2e/modes.hpp"

namespace fiber::e2e {

/// What the tests' messages hold.
struct Order {
  std::string what;
  std::vector<double> amounts;
  caf::actor reply_to;

  template <class Archive>
  void serialize(Archive& archive, unsigned) {
    archive& what& reply_to;
    auto n = amounts.size();
    archive& n;
    amounts.resize(n);
    for (auto& each : amounts)
      archive& each;
  }
};
struct Unknown {
  int value = 0;
};

} // namespace fiber::e2e

FIBER_MESSAGE(fiber::e2e::Order)
FIBER_MESSAGE(std::vector<double>)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(fiber::e2e::Unknown)

namespace fiber::e2e {
namespace {

using namespace std::chrono_literals;

using add_atom = caf::atom_constant<caf::atom("add")>;
using pid_atom = caf::atom_constant<caf::atom("pid")>;
using quit_atom = caf::atom_constant<caf::atom("quit")>;
using fail_atom = caf::atom_constant<caf::atom("fail")>;
using hold_atom = caf::atom_constant<caf::atom("hold")>;
using note_atom = caf::atom_constant<caf::atom("note")>;
using list_atom = caf::atom_constant<caf::atom("list")>;

struct CounterState {
  int sum = 0;
  std::vector<int> noted;
  std::vector<caf::response_promise> held;
};
using Counter = caf::stateful_actor<CounterState>;

caf::behavior counter(Counter* self, int first) {
  self->state.sum = first;
  return {
    [=](add_atom, int x) { return self->state.sum += x; },
    [](pid_atom) { return static_cast<int>(getpid()); },
    [=](quit_atom, bool well) {
      self->quit(well ? caf::exit_reason::normal : caf::exit_reason::unhandled_exception);
    },
    [](fail_atom) -> caf::result<int> {
      return caf::make_error(caf::sec::runtime_error, "for a reason");
    },
    [=](hold_atom) { self->state.held.push_back(self->make_response_promise()); },
    [=](note_atom, int x) { self->state.noted.push_back(x); },
    [=](list_atom) {
      return std::vector<double>(self->state.noted.begin(), self->state.noted.end());
    },
    [](Order& order) {
      order.what += "!";
      return order;
    }};
}

class EveryActor : public EveryMode {
protected:
  static constexpr auto patience =
    std::chrono::duration_cast<std::chrono::seconds>(deadline);

  /// What `actor` answers; a failure of the test if that is an error.
  template <class R, class Handle, class... Args>
  R ask(const Handle& actor, const Args&... args) {
    R result{};
    caf::scoped_actor self{actor_system()};
    self->request(actor, patience, args...)
      .receive(
        [&](const R& value) { result = value; },
        [&](const caf::error& error) { ADD_FAILURE() << actor_system().render(error); });
    return result;
  }
  template <class Handle, class... Args>
  caf::error error_of(const Handle& actor, const Args&... args) {
    caf::error result;
    caf::scoped_actor self{actor_system()};
    self->request(actor, patience, args...)
      .receive([] { ADD_FAILURE() << "there is an answer"; },
               [&](const caf::error& error) { result = error; });
    return result;
  }
  /// What it answers to `add`; nothing if that is an error.
  static std::optional<int> sum_with(const caf::actor& actor, int x) {
    std::optional<int> sum;
    caf::scoped_actor self{actor_system()};
    self->request(actor, patience, add_atom::value, x)
      .receive([&](int now) { sum = now; }, [](const caf::error&) {});
    return sum;
  }
  /// Why it ended.
  static caf::error await_down(const caf::scoped_actor& self) {
    caf::error reason = caf::sec::none;
    self->receive([&](const caf::down_msg& down) { reason = down.reason; },
                  caf::after(patience) >> [] { ADD_FAILURE() << "no end"; });
    return reason;
  }
  void kill_job(const caf::actor& actor) {
    kill(ask<int>(actor, pid_atom::value), SIGKILL);
  }
};

INSTANTIATE_TEST_SUITE_P(On, EveryActor, testing::ValuesIn(modes()),
                         [](auto& mode) { return std::string(mode.param.name); });

TEST_P(EveryActor, is_spawned_in_a_job_by_one_line) {
  auto actor = spawn<counter>({}, 40);
  EXPECT_EQ(ask<int>(actor, add_atom::value, 1), 41);
  EXPECT_EQ(ask<int>(actor, add_atom::value, 1), 42);
  EXPECT_EQ(ask<int>(actor, pid_atom::value) == getpid(), in_process());
}

using Adder = caf::typed_actor<caf::replies_to<add_atom, int, int>::with<int>>;
Adder::behavior_type adder(Adder::pointer) {
  return {[](add_atom, int x, int y) { return x + y; }};
}

TEST_P(EveryActor, may_be_statically_typed) {
  Adder actor = spawn<adder>();
  EXPECT_EQ(ask<int>(actor, add_atom::value, 40, 2), 42);
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

TEST_P(EveryActor, takes_and_answers_what_is_declared) {
  auto actor = spawn<counter>({}, 0);
  Order order{"tea", {1, 2.5}, actor};
  auto back = ask<Order>(actor, order);
  EXPECT_EQ(back.what, "tea!");
  EXPECT_EQ(back.amounts, order.amounts);
  EXPECT_EQ(back.reply_to, actor);
  for (int i = 0; i < 3; ++i)
    caf::anon_send(actor, note_atom::value, i);
  EXPECT_EQ(ask<std::vector<double>>(actor, list_atom::value),
            (std::vector<double>{0, 1, 2}));
}

TEST_P(EveryActor, is_told_how_to_declare_what_is_not) {
  auto actor = spawn<counter>({}, 0);
  auto error = error_of(actor, Unknown{});
  EXPECT_EQ(error, caf::sec::invalid_argument);
  EXPECT_NE(actor_system().render(error).find("FIBER_MESSAGE(fiber::e2e::Unknown)"),
            std::string::npos)
    << actor_system().render(error);
}

TEST_P(EveryActor, answers_with_errors) {
  auto actor = spawn<counter>({}, 0);
  auto error = error_of(actor, fail_atom::value);
  EXPECT_EQ(error, caf::sec::runtime_error);
  EXPECT_NE(actor_system().render(error).find("for a reason"), std::string::npos);
  EXPECT_EQ(error_of(actor, std::string("what?")), caf::sec::unexpected_message);
}

caf::behavior fails_to_start(caf::event_based_actor*, const std::string& why) {
  throw std::runtime_error(why);
}
class NoActor : public caf::event_based_actor {
public:
  explicit NoActor(caf::actor_config& config) : event_based_actor(config) {
    throw std::runtime_error("not today");
  }
  caf::behavior make_behavior() override { return {}; }
};

TEST_P(EveryActor, that_ends_as_it_starts_is_given_up) {
  auto actor = spawn<fails_to_start>({}, "not today");
  caf::scoped_actor self{actor_system()};
  self->monitor(actor);
  EXPECT_TRUE(await_down(self));
  EXPECT_THROW(spawn<NoActor>(), RemoteError);
}

/// Sends what comes to another one, in any process.
caf::behavior forwarder(caf::event_based_actor* self, const caf::actor& to) {
  return {[=](add_atom, int x) { return self->delegate(to, add_atom::value, x); },
          [=](note_atom, int x) { self->send(to, note_atom::value, x); },
          [=](pid_atom) { return self->delegate(to, pid_atom::value); },
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
  EXPECT_EQ(ask<int>(first, add_atom::value, 2), 42);
  EXPECT_EQ(ask<int>(first, pid_atom::value), ask<int>(last, pid_atom::value));
}

TEST_P(EveryActor, gets_the_messages_of_another_one_in_their_order) {
  constexpr int many = 500;
  auto last = spawn<counter>({}, 0);
  auto first = spawn<forwarder>({}, last);
  for (int i = 0; i < many; ++i)
    caf::anon_send(first, note_atom::value, i);
  std::vector<double> noted;
  EXPECT_TRUE(wait_until([&] {
    noted = ask<std::vector<double>>(last, list_atom::value);
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
        asker->request(actor, patience, add_atom::value, 1).then([&](int now) {
          sum = now;
        });
    },
    many);
  self->wait_for(last);
  EXPECT_EQ(sum, many);
}

TEST_P(EveryActor, is_monitored_to_its_final_end) {
  auto actor = spawn<counter>({.restart = Restart::transient}, 0);
  caf::scoped_actor self{actor_system()};
  self->monitor(actor);
  ask<int>(actor, add_atom::value, 1);
  caf::anon_send(actor, quit_atom::value, false);
  EXPECT_TRUE(wait_until([&] { return sum_with(actor, 7) == 7; })); // It started again.
  caf::anon_send(actor, quit_atom::value, true);
  EXPECT_EQ(await_down(self), caf::exit_reason::normal);
  EXPECT_EQ(error_of(actor, add_atom::value, 1), caf::sec::request_receiver_down);
}

TEST_P(EveryActor, that_is_shut_down_does_not_start_again) {
  auto actor = spawn<counter>({}, 0);
  caf::scoped_actor self{actor_system()};
  self->monitor(actor);
  self->send_exit(actor, caf::exit_reason::user_shutdown);
  EXPECT_EQ(await_down(self), caf::exit_reason::user_shutdown);
}

TEST_P(EveryActor, takes_linked_ones_along) {
  auto actor = spawn<counter>({.restart = Restart::temporary}, 0);
  auto here = actor_system().spawn(
    [](caf::event_based_actor* self, const caf::actor& to) {
      self->link_to(to);
      return caf::behavior{[](int x) { return x; }};
    },
    actor);
  EXPECT_EQ(ask<int>(here, 1), 1);
  caf::scoped_actor self{actor_system()};
  self->monitor(here);
  caf::anon_send(actor, quit_atom::value, false);
  EXPECT_EQ(await_down(self), caf::exit_reason::unhandled_exception);
}

TEST_P(EveryActor, lives_on_when_its_job_is_killed) {
  if (in_process())
    return;
  auto actor = spawn<counter>({}, 40);
  auto before = ask<int>(actor, pid_atom::value);
  EXPECT_EQ(ask<int>(actor, add_atom::value, 1), 41);
  for (int kills = 0; kills < 2; ++kills) {
    kill_job(actor);
    // What was sent too early may be lost with the job, and is told so.
    EXPECT_TRUE(wait_until([&] { return sum_with(actor, 2) == 42; }));
  }
  EXPECT_NE(ask<int>(actor, pid_atom::value), before);
}

TEST_P(EveryActor, whose_job_is_lost_fails_the_requests_under_way) {
  if (in_process())
    return;
  auto actor = spawn<counter>({}, 0);
  auto pid = ask<int>(actor, pid_atom::value);
  caf::error error;
  caf::scoped_actor self{actor_system()};
  auto held = self->request(actor, patience, hold_atom::value);
  EXPECT_EQ(ask<int>(actor, add_atom::value, 1), 1); // So it has come.
  kill(pid, SIGKILL);
  held.receive([] { ADD_FAILURE() << "there is an answer"; },
               [&](const caf::error& why) { error = why; });
  EXPECT_EQ(error, caf::sec::request_receiver_down);
}

TEST_P(EveryActor, that_is_temporary_ends_with_its_job) {
  if (in_process())
    return;
  auto actor = spawn<counter>({.restart = Restart::temporary}, 0);
  caf::scoped_actor self{actor_system()};
  self->monitor(actor);
  kill_job(actor);
  EXPECT_EQ(await_down(self), caf::exit_reason::remote_link_unreachable);
}

TEST_P(EveryActor, that_fails_too_often_is_given_up) {
  auto actor = spawn<counter>({}, 0);
  caf::scoped_actor self{actor_system()};
  self->monitor(actor);
  auto down = false;
  EXPECT_TRUE(wait_until([&] { // Those that come to a dead one are lost.
    self->send(actor, quit_atom::value, false);
    self->receive([&](const caf::down_msg&) { down = true; }, caf::after(1ms) >> [] {});
    return down;
  }));
}

TEST_P(EveryActor, in_a_job_hears_of_the_end_of_another_one) {
  auto actor = spawn<counter>({.restart = Restart::temporary}, 0);
  constexpr auto watcher = [](caf::event_based_actor* self, const caf::actor& of,
                              const caf::actor& to) -> caf::behavior {
    self->set_down_handler([=](const caf::down_msg& down) {
      self->send(to, down.reason == caf::exit_reason::normal);
    });
    self->monitor(of);
    return {[](int x) { return x; }};
  };
  caf::scoped_actor self{actor_system()};
  auto watching = spawn<watcher>({}, actor, caf::actor(self));
  EXPECT_EQ(ask<int>(watching, 1), 1);
  caf::anon_send(actor, quit_atom::value, true);
  auto normal = false;
  self->receive([&](bool was) { normal = was; },
                caf::after(patience) >> [] { ADD_FAILURE() << "it heard nothing"; });
  EXPECT_TRUE(normal);
}

TEST_P(EveryActor, ends_with_the_last_handle) {
  if (in_process())
    return;
  auto actor = spawn<counter>({}, 0);
  auto pid = ask<int>(actor, pid_atom::value);
  actor = nullptr;
  EXPECT_TRUE(wait_until([&] { return !lives(pid); }));
}

caf::behavior parent(caf::event_based_actor* self) {
  auto child = spawn<counter>({}, 40);
  return {[=](add_atom, int x) { return self->delegate(child, add_atom::value, x); }};
}

TEST_P(EveryActor, spawns_others) {
  EXPECT_EQ(ask<int>(spawn<parent>(), add_atom::value, 2), 42);
}

TEST_P(EveryActor, is_an_argument_of_tasks) {
  auto actor = spawn<counter>({}, 40);
  Pool pool(1);
  auto task = [](const caf::actor& of, int x) {
    int result = 0;
    caf::scoped_actor self{actor_system()};
    self->request(of, caf::infinite, add_atom::value, x)
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

TEST_P(EveryActor, tells_of_its_end_when_the_session_ends) {
  auto actor = spawn<counter>({}, 0);
  auto down = std::make_shared<std::atomic<bool>>(false);
  auto watching = actor_system().spawn( // CAF ends what nobody has a handle to.
    [down](caf::event_based_actor* self, const caf::actor& of) {
      self->set_down_handler([=](const caf::down_msg&) {
        *down = true;
        self->quit();
      });
      self->monitor(of);
      return caf::behavior{[](int) {}};
    },
    actor);
  close();
  EXPECT_TRUE(*down);
}

TEST_P(EveryActor, needs_resources_that_make_sense) {
  EXPECT_THROW(spawn<counter>({.resources = {.cpu = -1}}, 0), ConfigError);
}

} // namespace
} // namespace fiber::e2e
