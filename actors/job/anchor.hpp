// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "actors/protocol/node_boot.hpp"
#include "wire/link.hpp"

namespace fiber::actors {

/// The incarnation that identifies an anchor's link to the driver.
inline constexpr std::uint64_t anchor_incarnation = UINT64_MAX;

/// Runs this job as its session's anchor: a node without slots, which only waits for the
/// end of the driver. It then exits with code 0, after the time in anchor_linger; if it
/// is asked to end before, it exits with another code, so that the engine restarts it.
/// `keys` is its packed identity.
[[noreturn]] void run_anchor(Bytes keys, const NodeBoot& boot);

/// A driver's links to its anchors. An anchor takes the end of its link for the end of
/// the session, so each link is held until the anchor or the session ends. There may be
/// several: an anchor that was asked to end may outlive the start of the next one.
/// Thread-safe.
class AnchorLinks {
public:
  void add(std::shared_ptr<wire::Link> link);
  /// Drops all links, as the session has ended.
  void close();

private:
  class Handler;
  struct AnchorLink {
    std::shared_ptr<wire::Link> link;
    std::shared_ptr<Handler> handler;
  };

  std::mutex mutex_;
  std::vector<AnchorLink> links_; ///< add() drops those that have closed.
};

} // namespace fiber::actors
