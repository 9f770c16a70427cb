// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <string>

#include <caf/actor.hpp>
#include <caf/fwd.hpp>

#include "actors/manager/object_job.hpp"
#include "fiber/supervision.hpp"

namespace fiber::actors {

struct SupervisedJobSettings {
  ObjectJob job;
  std::shared_ptr<ProcessNews> news; ///< News of this incarnation.
  std::function<void()> up;          ///< Called when the job has all its objects.
  /// Called when the job has ended; null: as planned.
  std::function<void(std::exception_ptr why)> down;
};

/// Starts one incarnation of a job of objects, as the child of a supervisor
/// (supervisor_actor.hpp). The actor announces its start when the objects are made, and
/// ends with the job. When told to end, it lets the objects run on_stop() first.
caf::actor spawn_supervised_job(caf::event_based_actor* supervisor,
                                SupervisedJobSettings settings);

/// Returns a short text of the error: for a lost job only the reason.
std::string in_words(const std::exception_ptr& why);

} // namespace fiber::actors
