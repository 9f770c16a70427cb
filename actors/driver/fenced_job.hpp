// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include <caf/actor.hpp>
#include <caf/fwd.hpp>

#include "actors/protocol/link_to_actor.hpp"
#include "actors/share/share_store.hpp"
#include "backends/backend.hpp"
#include "wire/link.hpp"

namespace fiber::actors {

/// A job and its link, as far as they are known.
struct JobLink {
  std::uint64_t incarnation = 0;
  std::string name;
  std::shared_ptr<backends::Job> job;
  std::shared_ptr<wire::Link> link;
  std::shared_ptr<LinkToActor> handler;
  bool link_gone = false, job_gone = false;
};

/// Time for a link to close after its job has ended.
inline constexpr std::chrono::milliseconds link_end_wait{500};

/// Starts the actor of a fenced job, one that was declared dead but may still run. Until
/// the job is really gone, the actor passes its results to the pool, which refuses them
/// as late; then it frees the shared values that the job held.
///
/// It takes the messages of the link and the events of the job.
caf::actor spawn_fenced_job(caf::event_based_actor* node_link, JobLink node,
                            std::shared_ptr<ShareStore> shares, caf::actor pool);

} // namespace fiber::actors
