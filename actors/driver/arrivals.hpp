// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include <caf/actor.hpp>
#include <caf/fwd.hpp>

#include "fiber/detail/caf/message_type.hpp"
#include "wire/link.hpp"

namespace fiber::actors {

/// A link that a job has dialled.
struct LinkArrived {
  std::shared_ptr<wire::Link> link;
};

/// The actors that wait for a job to dial back, by the job's incarnation. Thread-safe.
class Arrivals {
public:
  void expect(std::uint64_t incarnation, caf::actor who);
  void forget(std::uint64_t incarnation);
  /// Sends the link to the actor that expects it; closes a link that nobody expects.
  void arrived(caf::actor_system& system, std::uint64_t incarnation,
               std::shared_ptr<wire::Link> link);

private:
  std::mutex mutex_;
  std::map<std::uint64_t, caf::actor> expected_;
};

} // namespace fiber::actors

FIBER_ACTOR_MESSAGE(fiber::actors::LinkArrived)
