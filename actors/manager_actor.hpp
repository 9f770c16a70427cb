// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <string>

#include <caf/actor.hpp>
#include <caf/allowed_unsafe_message_type.hpp>
#include <caf/fwd.hpp>

#include "actors/call.hpp"
#include "actors/managed_objects.hpp"
#include "actors/process_actor.hpp"
#include "actors/signal.hpp"
#include "fiber/supervision.hpp"

namespace fiber::actors {

struct ManagerSettings {
  std::string name;
  Restart restart = Restart::temporary;
  std::size_t threads = 1;
  std::shared_ptr<ManagedObjects> objects;
  std::shared_ptr<ObjectHandle> control; ///< Of `objects`.
  /// Starts its job, which runs that one task; `ended` is to be called when it has ended.
  std::function<caf::actor(caf::event_based_actor* manager, std::string name,
                           std::shared_ptr<const Batch> task,
                           std::function<void()> ended)>
    start_job;
  std::shared_ptr<Signal> ended; ///< Set when its last job has ended.
};

/// End the job, after the calls that run.
struct EndManager {};
/// Its job is of no use.
struct ManagerJobFailed {
  std::exception_ptr why;
};

/// A manager: has one job at a time, in which its objects live, and judges whether
/// another one takes its place when it is lost. ManagedObjects tells callers what came of
/// them.
caf::actor spawn_manager(caf::actor_system& system, ManagerSettings settings);

} // namespace fiber::actors

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(fiber::actors::EndManager)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(fiber::actors::ManagerJobFailed)
