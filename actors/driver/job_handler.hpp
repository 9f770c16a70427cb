// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <limits>
#include <memory>
#include <utility>

#include "actors/protocol/link_to_actor.hpp"

namespace fiber::actors {

/// The handler of a job's link. Stops reading from a job that sends requests and does not
/// read the replies, because unsent replies would fill the driver's memory.
class JobHandler final : public LinkToActor {
public:
  JobHandler(caf::actor_system& system, caf::actor target,
             std::shared_ptr<WaitingBytes> all, std::weak_ptr<wire::Link> link)
    : LinkToActor(system, std::move(target), std::move(all)), link_(std::move(link)) {}

  /// To be called for what may have an answer.
  void answering() { ++unread_; }
  std::size_t waiting() const override {
    if (unread_ > max_unread) {
      if (auto link = link_.lock(); link && link->backlog() > 0)
        return std::numeric_limits<std::size_t>::max();
      unread_ = 0;
    }
    return LinkToActor::waiting();
  }

private:
  static constexpr std::size_t max_unread = 20'000;
  std::weak_ptr<wire::Link> link_;
  mutable std::atomic<std::size_t> unread_ = 0; ///< Since the link had nothing to send.
};

} // namespace fiber::actors
