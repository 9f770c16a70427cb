// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include <caf/actor.hpp>
#include <caf/allowed_unsafe_message_type.hpp>
#include <caf/fwd.hpp>

#include "backends/backend.hpp"

namespace fiber::actors {

/// Start a job and report its end to `owner` as backends::JobEvent. Answered with
/// JobCreated, as soon as the start window has room.
struct CreateJob {
  std::shared_ptr<backends::JobSpec> spec;
  caf::actor owner;
  bool all_output = false; ///< JobOutput has all that the backend keeps.
};
struct JobCreated {
  std::shared_ptr<backends::Job> job; ///< Null if it was refused.
  std::string problem;                ///< Why.
  int status = 0;                     ///< errno or HTTP status; 0 if there is none.
};
/// The job of that name is ready or has failed: it no longer takes room in the start
/// window.
struct StartFinished {
  std::string name;
};
/// The job of that name is wanted no more. If it was not created yet it never will be.
struct CancelJob {
  std::string name;
};
struct EndJob {
  backends::JobId job;
  std::chrono::milliseconds grace{0};
};
/// Report on the job to somebody else from now on; of one that is gone, that it ended.
struct WatchJob {
  backends::JobId job;
  caf::actor owner;
};

/// Answered with JobOutput: what is kept of it now; nothing of a job that is gone.
struct AskOutput {
  backends::JobId job;
};

/// To a job's owner, before the event that it has ended: the end of what it wrote.
struct JobOutput {
  std::string text;
};

/// The one actor that makes jobs. At most `window` of them are starting at a time, so
/// that a thousand do not knock at once. It runs on a thread of its own since an engine
/// may take its time.
caf::actor spawn_job_backend(caf::actor_system& system,
                             std::shared_ptr<backends::Backend> backend,
                             std::size_t window);

} // namespace fiber::actors

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(fiber::actors::CreateJob)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(fiber::actors::JobCreated)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(fiber::actors::StartFinished)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(fiber::actors::CancelJob)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(fiber::actors::EndJob)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(fiber::actors::WatchJob)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(fiber::actors::AskOutput)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(fiber::actors::JobOutput)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(fiber::backends::JobEvent)
