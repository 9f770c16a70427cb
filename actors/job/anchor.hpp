// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "actors/protocol/node_boot.hpp"
#include "backends/job_entry.hpp"
#include "wire/link.hpp"

namespace fiber::actors {

/// The incarnation by which a driver knows its anchor's link.
inline constexpr std::uint64_t anchor_incarnation = UINT64_MAX;

/// Runs this job as its session's anchor: a node without slots, which does nothing but to
/// end with code 0 when the driver is gone, and with another one when it is asked to end,
/// so that whoever made it makes it again.
[[noreturn]] void run_anchor(const backends::JobEntry& entry, const NodeBoot& boot);

/// A driver's links to its anchors. Each is held until the anchor or the session ends, as
/// an anchor takes the end of its link for that: one that is asked to end may live on
/// while the next one is there already. Thread-safe.
class AnchorLinks {
public:
  void add(std::shared_ptr<wire::Link> link);
  /// The session has ended.
  void close();

private:
  class Handler;
  struct Held {
    std::shared_ptr<wire::Link> link;
    std::shared_ptr<Handler> handler;
  };

  std::mutex mutex_;
  std::vector<Held> links_; ///< Those that have closed go when the next one comes.
};

} // namespace fiber::actors
