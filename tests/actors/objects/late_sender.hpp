// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <deque>
#include <memory>
#include <utility>

#include <caf/all.hpp>

#include "actors/protocol/messages.hpp"
#include "fiber/detail/caf/message_type.hpp"
#include "tests/actors/pool/simulation_ledger.hpp"

namespace fiber::actors::simulation {

/// A message of a late sender to itself.
struct NextLate {};
struct NodeAlarm; ///< Of a simulated node to itself.

} // namespace fiber::actors::simulation

CAF_BEGIN_TYPE_ID_BLOCK(simulation, caf::first_custom_type_id)
CAF_ADD_TYPE_ID(simulation, (fiber::actors::simulation::NextLate))
CAF_ADD_TYPE_ID(simulation, (fiber::actors::simulation::NodeAlarm))
CAF_END_TYPE_ID_BLOCK(simulation)
FIBER_ACTOR_MESSAGE(fiber::actors::simulation::NextLate)

namespace fiber::actors::simulation {

struct LateSender {
  caf::event_based_actor* self;
  caf::actor pool;
  std::deque<NodeResults> late;
  std::shared_ptr<Ledger> ledger;

  explicit LateSender(caf::event_based_actor* self) : self(self) {}
  caf::behavior make_behavior() {
    next();
    return {[this](NextLate) {
      self->send(pool, std::move(late.front()));
      late.pop_front();
      next();
    }};
  }
  void next() {
    if (late.empty())
      self->quit();
    else
      self->delayed_send(self, std::chrono::microseconds(ledger->below(60'000)),
                         NextLate{});
  }
};

/// The link of a node that was declared dead: it delivers messages in flight later.
inline void spawn_late_sender(caf::event_based_actor* node, std::deque<NodeResults> late,
                              const caf::actor& pool,
                              const std::shared_ptr<Ledger>& ledger) {
  node->spawn(
    [](caf::stateful_actor<LateSender>* sender, const std::deque<NodeResults>& what,
       const caf::actor& to, const std::shared_ptr<Ledger>& with) {
      sender->state.late = what;
      sender->state.pool = to;
      sender->state.ledger = with;
      return sender->state.make_behavior();
    },
    std::move(late), pool, ledger);
}

} // namespace fiber::actors::simulation
