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

/// What is known of a job and its link.
struct JobLink {
  std::uint64_t incarnation = 0;
  std::string name;
  std::shared_ptr<backends::Job> job;
  std::shared_ptr<wire::Link> link;
  std::shared_ptr<LinkToActor> handler;
  bool link_gone = false, job_gone = false;
};

/// From the end of a job to the end of its link, or the other way round.
inline constexpr std::chrono::milliseconds link_end_wait{500};

/// Stays with a job that was declared dead until it is really gone: hands its results to
/// the pool, which refuses them as late, and then frees what it held.
///
/// Takes what the link says, and the job's events.
caf::actor spawn_fenced_job(caf::event_based_actor* node_link, JobLink node,
                            std::shared_ptr<ShareStore> shares, caf::actor pool);

} // namespace fiber::actors
