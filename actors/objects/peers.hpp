// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "actors/objects/peer_stream.hpp"
#include "actors/protocol/object_protocol.hpp"
#include "wire/link.hpp"

namespace fiber::actors {

/// The other jobs that this job exchanges messages with. Chooses for each message whether
/// it goes over a direct link between the two jobs, which PeerLinks has made, or through
/// the driver.
///
/// Thread safety: any thread may call any member function. But only one thread at a time
/// may call those that take a received message or event, and deliver what they return.
class Peers {
public:
  explicit Peers(std::uint64_t self) : self_(self) {}
  void connect(std::shared_ptr<wire::Link> driver);
  /// Sets a function that is called before a thread waits for messages of direct links.
  /// Call it before there are such threads.
  void before_waiting(std::function<void()> summon) { summon_ = std::move(summon); }

  // -- sending --

  void send(ObjectMessage message, Haste haste);
  /// Tells the driver that this process has dropped an object of a peer, once all earlier
  /// messages to the peer have arrived. Returns false, and tells nothing, if they have
  /// arrived already.
  bool release_later(const detail::HeldId& object);
  /// Waits until the kernel has sent all messages of the direct link to `process`.
  /// `promised`: settle_others() waits until they have arrived.
  void flush(std::uint64_t process, bool promised);
  /// Waits until the messages that were promised to processes other than `process` have
  /// arrived, or go through the driver because their link was cut.
  void settle_others(std::uint64_t process);
  /// Waits until all messages sent over direct links have arrived. Returns false if they
  /// have not within the limit.
  bool settle(std::chrono::milliseconds limit);

  // -- receiving; the caller delivers the returned messages, in their order --

  /// A message came through the driver.
  std::vector<ObjectMessage> arrived(ObjectMessage message);
  /// Bytes came over the direct link with that number. Closes the link if they are
  /// malformed.
  std::vector<ObjectMessage> heard(std::uint64_t process, std::uint64_t link,
                                   const Payload& whole);

  /// A direct link was made. `both`: the peer knows the link too, so that it may be used.
  /// Otherwise the first bytes of the peer show that it does.
  void connected(std::uint64_t process, std::uint64_t number,
                 std::shared_ptr<wire::Link> link, bool both);
  bool linked(std::uint64_t process) const;
  /// The direct link has ended, and all bytes of it were passed to heard(). Returns
  /// whether the process is gone too, as gone() said before.
  bool closed(std::uint64_t process, std::uint64_t link);

  // -- deaths --

  /// The driver says that the process is gone for good. Returns false if its direct link
  /// is still open: messages that it sent before may be unread, and closed() follows.
  bool gone(std::uint64_t process);
  /// Returns whether a process is gone and its direct link still open. Then a release
  /// from the driver must wait: unread messages of that link may refer to the object.
  bool dying() const;
  /// Call it regularly while dying(): it closes a link whose process was gone for several
  /// calls. It counts calls and not time, since this process may have been stopped.
  void end_dying();

private:
  struct Peer {
    PeerStream stream;
    std::shared_ptr<wire::Link> link;
    std::uint64_t number = 0;   ///< Of the link.
    bool both = false;          ///< The peer knows the link too: it may be used.
    std::uint64_t promised = 0; ///< Sequence number that settle_others() waits for.
    std::optional<int> dying;   ///< If the process is gone: calls of end_dying() since.
  };
  using PeersByProcess = std::map<std::uint64_t, Peer>;

  void send_by_driver_locked(const ObjectMessage& message, Haste haste);
  void read_locked(std::uint64_t process, Peer& peer, const Payload& whole,
                   std::vector<ObjectMessage>& ready);
  void cut_locked(Peer& peer);
  void look_after_locked(Peer& peer);
  void forget_locked(PeersByProcess::iterator peer);

  /// The messages on direct links that may not have arrived: the last sequence number of
  /// each process.
  using Open = std::map<std::uint64_t, std::uint64_t>;
  bool is_open_locked(const Open& open) const;
  /// Asks for acknowledgements.
  void sync_locked(const Open& open);

  const std::uint64_t self_;
  std::function<void()> summon_ = [] {};
  mutable std::mutex mutex_;
  std::condition_variable changed_; ///< A link is cut, or something was acknowledged.
  std::shared_ptr<wire::Link> driver_;
  PeersByProcess peers_;
  std::set<std::uint64_t> dead_;
  std::atomic<bool> promised_ = false; ///< Whether a promised message may be in flight.
};

} // namespace fiber::actors
