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

/// The other jobs that this one talks to: which of its messages go by way of the driver,
/// and which over a link of the two (PeerLinks makes those).
///
/// Thread safety: any thread may call any member function. But what the driver says and
/// what the links bring must be told by one thread at a time, and delivered by it.
class Peers {
public:
  explicit Peers(std::uint64_t self) : self_(self) {}
  void connect(std::shared_ptr<wire::Link> driver);
  /// `summon` is called by who is going to wait for what links bring. Call before threads
  /// do.
  void before_waiting(std::function<void()> summon) { summon_ = std::move(summon); }

  // -- sending --

  void send(ObjectMessage message, Haste haste);
  /// Tells the driver that an object of a peer is not held any more, when all that was
  /// sent to the peer before has arrived there. False: that is so now, and nothing was
  /// told.
  bool release_later(const detail::HeldId& object);
  /// Waits until what went directly to that process is out of this one. `promised`:
  /// settle_others() waits for its arrival.
  void flush(std::uint64_t process, bool promised);
  /// Waits until what was promised so far has arrived everywhere but there, or goes by
  /// way of the driver, as its link was cut.
  void settle_others(std::uint64_t process);
  /// Waits until all that went directly so far has arrived. False if it has not within
  /// the limit.
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

  /// The driver says that the process is gone, for good. False: what it had sent directly
  /// before may still be there to be read, and closed() will tell of the end.
  bool gone(std::uint64_t process);
  /// Whether there is such a process. It may be the one that has held what the driver
  /// says is not held any more.
  bool dying() const;
  /// To be called now and then while there is: closes the links of those who have been
  /// dying for so many calls. Calls are counted and not time, as this process may stand
  /// still, too.
  void end_dying();

private:
  struct Peer {
    PeerStream stream;
    std::shared_ptr<wire::Link> link;
    std::uint64_t number = 0; ///< Of the link.
    bool both = false;        ///< There is one, and the peer has it, too: it may be used.
    std::uint64_t promised = 0; ///< Somebody relies on its arrival.
    std::optional<int> dying;   ///< How often it was looked at since it was gone.
  };
  using PeersByProcess = std::map<std::uint64_t, Peer>;

  void send_by_driver_locked(const ObjectMessage& message, Haste haste);
  void read_locked(std::uint64_t process, Peer& peer, const Payload& whole,
                   std::vector<ObjectMessage>& ready);
  void cut_locked(Peer& peer);
  void look_after_locked(Peer& peer);
  void forget_locked(PeersByProcess::iterator peer);

  /// What went directly and may not have arrived: by process, the last number.
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
  std::atomic<bool> promised_ = false; ///< Some peer may have what was promised.
};

} // namespace fiber::actors
