// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include <caf/actor.hpp>
#include <caf/allowed_unsafe_message_type.hpp>
#include <caf/fwd.hpp>

#include "wire/link.hpp"

namespace fiber::actors {

/// A link that a job has dialled.
struct LinkArrived {
  std::shared_ptr<wire::Link> link;
};

/// Who waits for which job to dial back. Thread-safe.
class Arrivals {
public:
  void expect(std::uint64_t incarnation, caf::actor who);
  void forget(std::uint64_t incarnation);
  /// Hands the link over; a link that nobody expects is closed.
  void arrived(caf::actor_system& system, std::uint64_t incarnation,
               std::shared_ptr<wire::Link> link);

private:
  std::mutex mutex_;
  std::map<std::uint64_t, caf::actor> expected_;
};

} // namespace fiber::actors

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(fiber::actors::LinkArrived)
