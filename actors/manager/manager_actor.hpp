// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include <caf/actor.hpp>
#include <caf/allowed_unsafe_message_type.hpp>
#include <caf/fwd.hpp>

#include "actors/core/reply.hpp"
#include "actors/manager/object_job.hpp"
#include "actors/process/process_actor.hpp"
#include "fiber/supervision.hpp"

namespace fiber::actors {

struct ManagerSettings {
  ObjectJob job;
  Restart restart = Restart::temporary;
  std::shared_ptr<Signal> ended; ///< Set when its last job has ended.
};

/// End the job, after the calls that run.
struct EndManager {};

/// A manager: has one job at a time, in which its objects live, and judges whether
/// another one takes its place when it is lost. ManagedObjects tells callers what came of
/// them.
caf::actor spawn_manager(caf::actor_system& system, ManagerSettings settings);

} // namespace fiber::actors

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(fiber::actors::EndManager)
