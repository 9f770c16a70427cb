// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <csignal>
#include <optional>
#include <string>
#include <vector>

#include <unistd.h>

#include <fiber/actor.hpp>
#include <fiber/fiber.hpp>
#include <gtest/gtest.h>

#include "tests/e2e/support/modes.hpp"

// Actors for tests, and ways to ask them.

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

} // namespace fiber::e2e

// CAF 0.18 needs type ids, and 0.17 has the same macros.
CAF_BEGIN_TYPE_ID_BLOCK(fiber_e2e, caf::first_custom_type_id)
CAF_ADD_TYPE_ID(fiber_e2e, (fiber::e2e::Order))
CAF_ADD_TYPE_ID(fiber_e2e, (std::vector<double>))
CAF_ADD_ATOM(fiber_e2e, fiber::e2e, add_atom, "add")
CAF_ADD_ATOM(fiber_e2e, fiber::e2e, pid_atom, "pid")
CAF_ADD_ATOM(fiber_e2e, fiber::e2e, quit_atom, "quit")
CAF_ADD_ATOM(fiber_e2e, fiber::e2e, fail_atom, "fail")
CAF_ADD_ATOM(fiber_e2e, fiber::e2e, hold_atom, "hold")
CAF_ADD_ATOM(fiber_e2e, fiber::e2e, note_atom, "note")
CAF_ADD_ATOM(fiber_e2e, fiber::e2e, die_atom, "die")
CAF_ADD_ATOM(fiber_e2e, fiber::e2e, list_atom, "list")
CAF_END_TYPE_ID_BLOCK(fiber_e2e)

FIBER_MESSAGE(fiber::e2e::Order)
FIBER_MESSAGE(std::vector<double>)
FIBER_MESSAGE(fiber::e2e::add_atom)
FIBER_MESSAGE(fiber::e2e::pid_atom)
FIBER_MESSAGE(fiber::e2e::quit_atom)
FIBER_MESSAGE(fiber::e2e::fail_atom)
FIBER_MESSAGE(fiber::e2e::hold_atom)
FIBER_MESSAGE(fiber::e2e::note_atom)
FIBER_MESSAGE(fiber::e2e::die_atom)
FIBER_MESSAGE(fiber::e2e::list_atom)

namespace fiber::e2e {

struct CounterState {
  int sum = 0;
  std::vector<int> noted;
  std::vector<caf::response_promise> held;
};
using Counter = caf::stateful_actor<CounterState>;

inline caf::behavior counter(Counter* self, int first) {
  self->state.sum = first;
  return {[=](add_atom, int x) { return self->state.sum += x; },
          [](pid_atom) { return static_cast<int>(getpid()); },
          [](die_atom) { std::raise(SIGKILL); },
          [=](quit_atom, bool well) {
            self->quit(well ? caf::exit_reason::normal : caf::exit_reason::unknown);
          },
          [](fail_atom) -> caf::result<int> {
            return caf::make_error(caf::sec::runtime_error, "for a reason");
          },
          [=](hold_atom) { self->state.held.push_back(self->make_response_promise()); },
          [=](note_atom, int x) { self->state.noted.push_back(x); },
          [=](list_atom) {
            return std::vector<double>(self->state.noted.begin(),
                                       self->state.noted.end());
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
      .receive([&](const R& value) { result = value; },
               [&](const caf::error& error) { ADD_FAILURE() << caf::to_string(error); });
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
    self->request(actor, patience, add_atom_v, x)
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
  void kill_job(const caf::actor& actor) { kill(ask<int>(actor, pid_atom_v), SIGKILL); }
};

} // namespace fiber::e2e
