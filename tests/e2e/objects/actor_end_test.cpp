// SPDX-License-Identifier: Apache-2.0
// The promise: whatever becomes of an actor's job, its proxy lives on; monitors hear of
// the final end only, and why.
#include <atomic>
#include <csignal>
#include <memory>
#include <stdexcept>
#include <string>

#include <fiber/actor.hpp>
#include <fiber/fiber.hpp>
#include <gtest/gtest.h>

#include "tests/e2e/objects/actor_fixture.hpp"

namespace fiber::e2e {
namespace {

using namespace std::chrono_literals;

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

class ActorInJob : public EveryActor {};
INSTANTIATE_TEST_SUITE_P(On, ActorInJob, testing::ValuesIn(job_modes()), mode_name);

TEST_P(EveryActor, that_ends_as_it_starts_is_given_up) {
  auto actor = spawn<fails_to_start>({}, "not today");
  caf::scoped_actor self{actor_system()};
  self->monitor(actor);
  EXPECT_TRUE(await_down(self));
  EXPECT_THROW(spawn<NoActor>(), RemoteError);
}

TEST_P(EveryActor, is_monitored_to_its_final_end) {
  auto actor = spawn<counter>({.restart = Restart::transient}, 0);
  caf::scoped_actor self{actor_system()};
  self->monitor(actor);
  ask<int>(actor, add_atom_v, 1);
  caf::anon_send(actor, quit_atom_v, false);
  EXPECT_TRUE(wait_until([&] { return sum_with(actor, 7) == 7; })); // It started again.
  caf::anon_send(actor, quit_atom_v, true);
  EXPECT_EQ(await_down(self), caf::exit_reason::normal);
  EXPECT_EQ(error_of(actor, add_atom_v, 1), caf::sec::request_receiver_down);
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
  caf::anon_send(actor, quit_atom_v, false);
  EXPECT_EQ(await_down(self), caf::exit_reason::unknown);
}

TEST_P(ActorInJob, lives_on_when_its_job_is_killed) {
  auto actor = spawn<counter>({}, 40);
  auto before = ask<int>(actor, pid_atom_v);
  EXPECT_EQ(ask<int>(actor, add_atom_v, 1), 41);
  for (int kills = 0; kills < 2; ++kills) {
    kill_job(actor);
    // What was sent too early may be lost with the job, and is told so.
    EXPECT_TRUE(wait_until([&] { return sum_with(actor, 2) == 42; }));
  }
  EXPECT_NE(ask<int>(actor, pid_atom_v), before);
}

TEST_P(ActorInJob, whose_job_is_lost_fails_the_requests_under_way) {
  auto actor = spawn<counter>({}, 0);
  auto pid = ask<int>(actor, pid_atom_v);
  caf::error error;
  caf::scoped_actor self{actor_system()};
  auto held = self->request(actor, patience, hold_atom_v);
  EXPECT_EQ(ask<int>(actor, add_atom_v, 1), 1); // So it has come.
  kill(pid, SIGKILL);
  held.receive([] { ADD_FAILURE() << "there is an answer"; },
               [&](const caf::error& why) { error = why; });
  EXPECT_EQ(error, caf::sec::request_receiver_down);
}

TEST_P(ActorInJob, that_is_temporary_ends_with_its_job) {
  auto actor = spawn<counter>({.name = "counter", .restart = Restart::temporary}, 0);
  caf::scoped_actor self{actor_system()};
  self->monitor(actor);
  kill_job(actor);
  auto reason = await_down(self);
  EXPECT_EQ(reason, caf::exit_reason::remote_link_unreachable);
  EXPECT_NE(caf::to_string(reason).find(
              "actor counter has lost its job for good: killed by SIGKILL"),
            std::string::npos)
    << caf::to_string(reason);
}

TEST_P(ActorInJob, whose_job_is_lost_too_often_is_given_up) {
  auto actor = spawn<counter>({.name = "counter"}, 0);
  caf::scoped_actor self{actor_system()};
  self->monitor(actor);
  caf::error reason;
  EXPECT_TRUE(wait_until([&] {
    caf::anon_send(actor, die_atom_v);
    self->receive([&](const caf::down_msg& down) { reason = down.reason; },
                  caf::after(1ms) >> [] {});
    return static_cast<bool>(reason);
  }));
  EXPECT_EQ(reason, caf::exit_reason::remote_link_unreachable);
  EXPECT_NE(caf::to_string(reason).find("actor counter has lost its job"),
            std::string::npos)
    << caf::to_string(reason);
}

TEST_P(ActorInJob, is_called_by_its_name_when_its_job_cant_start) {
  auto told = std::string();
  try {
    spawn<counter>({.name = "counter", .resources = {.gpu = 99}}, 0);
  } catch (const Error& error) {
    told = error.what();
  }
  EXPECT_NE(told.find("counter: "), std::string::npos) << told;
}

TEST_P(EveryActor, that_fails_too_often_is_given_up) {
  auto actor = spawn<counter>({.name = "counter"}, 0);
  caf::scoped_actor self{actor_system()};
  self->monitor(actor);
  caf::error reason;
  EXPECT_TRUE(wait_until([&] { // Those that come to a dead one are lost.
    self->send(actor, quit_atom_v, false);
    self->receive([&](const caf::down_msg& down) { reason = down.reason; },
                  caf::after(1ms) >> [] {});
    return static_cast<bool>(reason);
  }));
  EXPECT_EQ(reason, caf::exit_reason::unknown);
  EXPECT_NE(caf::to_string(reason).find("actor counter has ended more than"),
            std::string::npos)
    << caf::to_string(reason);
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
  caf::anon_send(actor, quit_atom_v, true);
  auto normal = false;
  self->receive([&](bool was) { normal = was; },
                caf::after(patience) >> [] { ADD_FAILURE() << "it heard nothing"; });
  EXPECT_TRUE(normal);
}

TEST_P(ActorInJob, ends_with_the_last_handle) {
  auto actor = spawn<counter>({}, 0);
  auto pid = ask<int>(actor, pid_atom_v);
  actor = nullptr;
  EXPECT_TRUE(wait_until([&] { return !lives(pid); }));
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

} // namespace
} // namespace fiber::e2e
