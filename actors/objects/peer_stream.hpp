// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "actors/protocol/object_protocol.hpp"

namespace fiber::actors {

/// What two jobs send each other, seen by one of them: each message arrives once and in
/// its order, though some go directly and others by way of the driver, and though the
/// direct link may be cut with messages in it.
///
/// Messages are numbered. By way of the driver they arrive as long as both jobs live;
/// what went directly is kept until its arrival is acknowledged, and sent again by way of
/// the driver if the link is cut before.
///
/// Thread safety: none.
class PeerStream {
public:
  // -- what is sent --

  /// Gives it its number. True: it may go directly, and a copy is kept; else it must go
  /// by way of the driver.
  bool number(ObjectMessage& message, bool direct);
  /// The last one that was numbered, to go by way of the driver, was not sent.
  void take_back() { --sent_; }
  /// The peer has all up to that number.
  void acknowledged(std::uint64_t upto);
  /// The number of the last one that went directly and may not have arrived; 0 if there
  /// is none.
  std::uint64_t unacknowledged() const;
  /// How many messages are kept, as they may not have arrived.
  std::size_t kept() const { return kept_.size(); }
  /// Whether one up to that number went directly and may not have arrived.
  bool is_open(std::uint64_t upto) const {
    return !kept_.empty() && kept_.front().sequence <= upto;
  }
  /// The link is cut: what must go by way of the driver now, in its order.
  std::vector<ObjectMessage> again();

  /// To be said to the driver of an object of the peer, behind what was sent directly so
  /// far. False: at once.
  bool hold_back(const detail::HeldId& release);
  /// Those whose time has come.
  std::vector<detail::HeldId> due();

  // -- what is received --

  /// Returns what can be delivered now, in its order.
  std::vector<ObjectMessage> arrived(ObjectMessage message);
  /// The peer wants to know when that number has arrived.
  void sync(std::uint64_t wanted);
  /// The number to acknowledge, if it is time to do so by a message of its own.
  std::optional<std::uint64_t> ack_due();
  /// No more will arrive. Returns the parcels of what came too early, for good.
  std::vector<std::uint64_t> end();

private:
  std::uint64_t sent_ = 0, acknowledged_ = 0;
  std::deque<ObjectMessage> kept_;
  std::deque<std::pair<std::uint64_t, detail::HeldId>>
    releases_; ///< Behind which number.

  std::uint64_t received_ = 0, told_ = 0; ///< Up to there.
  std::uint64_t wanted_ = 0;
  std::size_t untold_bytes_ = 0;
  std::map<std::uint64_t, ObjectMessage> early_;
};

} // namespace fiber::actors
