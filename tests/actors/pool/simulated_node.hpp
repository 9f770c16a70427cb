// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include <caf/all.hpp>

#include "actors/pool/pool_actor.hpp"
#include "tests/actors/pool/simulation_ledger.hpp"

namespace fiber::actors::simulation {

/// PoolSettings::start_node of a simulated history: starts an actor that models
/// node_link_actor, the link, the job and its slots. Its fate and delays are drawn from
/// the ledger's seed; delays pass on the actor system's clock.
///
/// May throw, like a backend that refuses a job.
caf::actor spawn_simulated_node(caf::event_based_actor* supervisor,
                                const std::shared_ptr<Ledger>& ledger,
                                const caf::actor& pool, const NodeOrder& order);

} // namespace fiber::actors::simulation
