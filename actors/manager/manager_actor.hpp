// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include <caf/actor.hpp>
#include <caf/fwd.hpp>

#include "actors/core/reply.hpp"
#include "actors/manager/object_job.hpp"
#include "actors/process/process_actor.hpp"
#include "fiber/detail/caf/message_type.hpp"
#include "fiber/supervision.hpp"

// This folder holds managers: objects that live in a job, the host, and are called from
// other processes; and the actors that restart that job.

namespace fiber::actors {

struct ManagerSettings {
  ObjectJob job;
  Restart restart = Restart::temporary;
  std::shared_ptr<Signal> ended; ///< Set when its last job has ended.
};

/// Ends the job after its running calls.
struct EndManager {};

/// Starts a manager, which has one job at a time for its objects, and decides whether a
/// lost job is replaced. ManagedObjects answers the callers of the objects.
caf::actor spawn_manager(caf::actor_system& system, ManagerSettings settings);

} // namespace fiber::actors

FIBER_ACTOR_MESSAGE(fiber::actors::EndManager)
