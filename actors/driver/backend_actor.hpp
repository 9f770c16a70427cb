// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include <caf/actor.hpp>
#include <caf/fwd.hpp>

#include "actors/core/reply.hpp"
#include "actors/roster/roster.hpp"
#include "backends/backend.hpp"
#include "fiber/detail/caf/message_type.hpp"

namespace fiber::actors {

/// Starts a job and reports to `owner`, as backends::JobEvent, why it waits, its start
/// and its end. Answered with JobCreated, as soon as the start window has room.
struct CreateJob {
  std::shared_ptr<backends::JobSpec> spec;
  caf::actor owner;
  bool all_output = false; ///< JobOutput holds all output that the backend keeps.
};
struct JobCreated {
  std::shared_ptr<backends::Job> job; ///< Null if it was refused.
  std::string problem;                ///< Why it was refused.
  int status = 0;                     ///< errno or HTTP status; 0 if there is none.
};
/// The job of that name is ready or has failed: it leaves the start window.
struct StartFinished {
  std::string name;
};
/// Cancels the job of that name if it is not created yet.
struct CancelJob {
  std::string name;
};
struct EndJob {
  backends::JobId job;
  std::chrono::milliseconds grace{0};
};
/// Replaces the job's owner, to whom its events go. If the job is gone, the new owner is
/// told that it has ended.
struct WatchJob {
  backends::JobId job;
  caf::actor owner;
};

/// Answered with JobOutput: the output that is kept now; empty for a job that is gone.
struct AskOutput {
  backends::JobId job;
};

/// Sets the reply to the output that is kept now, or to nothing if the job is gone.
struct ReadOutput {
  backends::JobId job;
  std::shared_ptr<Reply<std::optional<std::string>>> reply;
};

/// To a job's owner, before the event that the job has ended: the end of its output.
struct JobOutput {
  std::string text;
};

/// Starts the one actor that creates jobs. At most `window` of them start at a time, so
/// that a thousand jobs do not dial the driver at once. It has a thread of its own, since
/// calls to an engine block. The roster, if any, gets the output of jobs that have ended.
caf::actor spawn_job_backend(caf::actor_system& system,
                             std::shared_ptr<backends::Backend> backend,
                             std::size_t window,
                             std::shared_ptr<Roster> roster = nullptr);

} // namespace fiber::actors

FIBER_ACTOR_MESSAGE(fiber::actors::CreateJob)
FIBER_ACTOR_MESSAGE(fiber::actors::JobCreated)
FIBER_ACTOR_MESSAGE(fiber::actors::StartFinished)
FIBER_ACTOR_MESSAGE(fiber::actors::CancelJob)
FIBER_ACTOR_MESSAGE(fiber::actors::EndJob)
FIBER_ACTOR_MESSAGE(fiber::actors::WatchJob)
FIBER_ACTOR_MESSAGE(fiber::actors::AskOutput)
FIBER_ACTOR_MESSAGE(fiber::actors::ReadOutput)
FIBER_ACTOR_MESSAGE(fiber::actors::JobOutput)
FIBER_ACTOR_MESSAGE(fiber::backends::JobEvent)
