// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <string>

#include <caf/actor.hpp>
#include <caf/fwd.hpp>

#include "actors/manager/managed_objects.hpp"
#include "actors/process/process_actor.hpp"
#include "actors/protocol/call.hpp"

namespace fiber::actors {

/// A job that hosts objects.
struct ObjectJob {
  /// Starts a process for `task`, which calls `ended` when it has ended.
  using Start = std::function<caf::actor(caf::event_based_actor* parent, std::string name,
                                         std::shared_ptr<const TaskBatch> task,
                                         std::shared_ptr<ProcessNews> news,
                                         std::function<void()> ended)>;

  std::string name;
  std::size_t threads = 1;
  std::shared_ptr<ManagedObjects> objects;
  std::shared_ptr<ObjectHandle> control; ///< Control object of `objects`.
  Start start = nullptr;
};

/// Starts the job as a process, which `parent` has to monitor. Any thread may call
/// `ended`, before the process is down, with the error for open calls, or null if the
/// task has returned.
caf::actor
start_object_job(caf::event_based_actor* parent, const ObjectJob& job,
                 std::function<void(std::exception_ptr why)> ended,
                 std::shared_ptr<ProcessNews> news = std::make_shared<ProcessNews>());

} // namespace fiber::actors
