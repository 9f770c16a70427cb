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
  std::shared_ptr<ProcessNews> news; ///< Of this life.
  std::function<void()> up;          ///< Called when it has all its objects.
  /// Called when it has ended; null: as planned.
  std::function<void(std::exception_ptr why)> down;
};

/// One life of a job of objects, as the child of a supervisor (supervisor_actor.hpp):
/// tells it when the objects are made, ends when the job does, or when it is told to, and
/// then after its objects' on_stop().
caf::actor spawn_supervised_job(caf::event_based_actor* supervisor,
                                SupervisedJobSettings settings);

/// What went wrong, in a few words: of a lost job the reason alone.
std::string in_words(const std::exception_ptr& why);

} // namespace fiber::actors
