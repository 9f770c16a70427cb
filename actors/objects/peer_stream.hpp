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

/// One end of the message stream between two jobs. Each message arrives once and in
/// order, although some go over a direct link and others through the driver, and although
/// the link may be cut with messages in it.
///
/// Messages have sequence numbers. Those through the driver arrive as long as both jobs
/// live. Those of the direct link are kept until the peer acknowledges them, and sent
/// again through the driver if the link is cut before.
///
/// Thread safety: none.
class PeerStream {
public:
  // -- sending --

  /// Sets the sequence number of `message`. `direct`: there is a direct link. Returns
  /// whether the message may use it, and keeps a copy then; otherwise it must go through
  /// the driver.
  bool number(ObjectMessage& message, bool direct);
  /// Takes back the last number: that message, for the driver, could not be sent.
  void take_back() { --sent_; }
  /// The peer has received all messages up to that number.
  void acknowledged(std::uint64_t upto);
  /// Returns the number of the last message on the direct link that is not acknowledged;
  /// 0 if there is none.
  std::uint64_t unacknowledged() const;
  /// Returns how many messages on the direct link are not acknowledged.
  std::size_t kept() const { return kept_.size(); }
  /// Returns whether a message on the direct link, up to that number, is not
  /// acknowledged.
  bool is_open(std::uint64_t upto) const {
    return !kept_.empty() && kept_.front().sequence <= upto;
  }
  /// The direct link is cut. Returns the messages to send again through the driver, in
  /// order.
  std::vector<ObjectMessage> again();

  /// Holds back the release of an object of the peer until all earlier messages on the
  /// direct link are acknowledged. Returns false if they are: release it at once.
  bool hold_back(const detail::HeldId& release);
  /// Returns the held back releases that may be sent now.
  std::vector<detail::HeldId> due();

  // -- receiving --

  /// A message has arrived. Returns the messages that can be delivered now, in order.
  std::vector<ObjectMessage> arrived(ObjectMessage message);
  /// The peer asks for an acknowledgement when the message `wanted` has arrived.
  void sync(std::uint64_t wanted);
  /// Returns the number to acknowledge, if that takes a message of its own now.
  std::optional<std::uint64_t> ack_due();
  /// No more messages will arrive. Drops those that wait for earlier ones and returns
  /// their parcels.
  std::vector<std::uint64_t> end();

private:
  std::uint64_t sent_ = 0, acknowledged_ = 0;
  std::deque<ObjectMessage> kept_;
  std::deque<std::pair<std::uint64_t, detail::HeldId>>
    releases_; ///< Each with the number that it waits for.

  std::uint64_t received_ = 0, told_ = 0; ///< Last number received, and acknowledged.
  std::uint64_t wanted_ = 0;
  std::size_t untold_bytes_ = 0;
  std::map<std::uint64_t, ObjectMessage> early_;
};

} // namespace fiber::actors
