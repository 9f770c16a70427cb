// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "actors/object_protocol.hpp"
#include "actors/peer_stream.hpp"
#include "wire/link.hpp"

namespace fiber::actors {

/// The other jobs that this one talks to: which of its messages go by way of the driver,
/// and which over a link of the two (PeerLinks makes those).
///
/// Thread safety: any thread may call any member function. But what the driver says and
/// what the links bring must be told by one thread at a time, and delivered by it.
class Peers {
public:
  explicit Peers(std::uint64_t self) : self_(self) {}
  void connect(std::shared_ptr<wire::Link> driver);

  // -- sending --

  void send(ObjectMessage message, Haste haste);
  /// Tells the driver that an object of a peer is not held any more, when all that was
  /// sent to the peer before has arrived there. False: that is so now, and nothing was
  /// told.
  bool release_later(const detail::HeldId& object);
  /// Waits until what went directly is out of this process.
  void flush();
  /// Waits until it has arrived. False if it has not within the limit.
  bool settle(std::chrono::milliseconds limit);

  // -- what comes; the messages must be delivered in this order --

  /// By way of the driver.
  std::vector<ObjectMessage> arrived(ObjectMessage message);
  /// Over the link of that number. One that brings what can't be read is closed.
  std::vector<ObjectMessage> heard(std::uint64_t process, std::uint64_t link,
                                   const Payload& whole);

  /// A link is there, of which nothing was heard yet. `both`: at the peer's end, too.
  void connected(std::uint64_t process, std::uint64_t number,
                 std::shared_ptr<wire::Link> link, bool both);
  bool linked(std::uint64_t process) const;
  /// The link is gone, and all that it had brought was heard. True if so is the process,
  /// as gone() was told before.
  bool closed(std::uint64_t process, std::uint64_t link);

  // -- deaths --

  /// The driver says that the process is gone. False: what it had sent directly before
  /// may still be there to be read, and closed() will tell of the end.
  bool gone(std::uint64_t process);
  /// Whether there is such a process. It may be the one that has held what the driver
  /// says is not held any more.
  bool dying() const;
  /// Closes the links of those that have been so for longer than a dead process needs.
  void end_dying();

private:
  using Clock = std::chrono::steady_clock;
  struct Peer {
    PeerStream stream;
    std::shared_ptr<wire::Link> link;
    std::uint64_t number = 0; ///< Of the link.
    bool both = false;        ///< The peer has the link, too: it may be used.
    std::optional<Clock::time_point> gone;
  };

  void read_locked(std::uint64_t process, Peer& peer, const Payload& whole,
                   std::vector<ObjectMessage>& ready);
  void cut_locked(Peer& peer);
  void look_after_locked(Peer& peer);

  const std::uint64_t self_;
  mutable std::mutex mutex_;
  std::condition_variable changed_; ///< A link is cut, or something was acknowledged.
  std::shared_ptr<wire::Link> driver_;
  std::map<std::uint64_t, Peer> peers_;
};

} // namespace fiber::actors
