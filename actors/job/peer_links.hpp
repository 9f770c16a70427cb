// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <caf/actor.hpp>
#include <caf/fwd.hpp>

#include "actors/objects/object_space.hpp"
#include "actors/objects/peer_introductions.hpp"
#include "fiber/detail/caf/message_type.hpp"
#include "wire/listener.hpp"
#include "wire/local_listener.hpp"

namespace fiber::actors {

// -- to a node --

/// A message over the link of that number.
struct FromPeer {
  std::uint64_t process = 0, link = 0;
  Payload message;
};
/// The link is gone.
struct PeerClosed {
  std::uint64_t process = 0, link = 0;
};

/// Makes the links of a job to other jobs, as the driver asks it to: by mutual TLS with
/// the job's certificate if that is how it has reached its driver, else by local sockets.
/// Each link is proved with the secret that the driver has given the two. What fails
/// costs one line in the log, and the two go on by way of the driver.
///
/// Thread safety: any thread may call any member function.
class PeerLinks : public std::enable_shared_from_this<PeerLinks> {
public:
  struct Parts {
    wire::Reactor* reactor = nullptr; ///< Outlives this.
    caf::actor_system* system = nullptr;
    std::shared_ptr<ObjectSpace> objects;
    std::shared_ptr<wire::Link> driver;
    wire::LinkOptions link = {};
    // For TLS:
    std::optional<wire::Identity> identity = std::nullopt;
    wire::Hello hello = {};
    std::string driver_host = {};
  };

  explicit PeerLinks(Parts parts) : parts_(std::move(parts)) {}
  /// Who is told what the links bring. Call before all others.
  void tell(caf::actor node) { node_ = std::move(node); }

  /// Op::peer_listen. None of these blocks.
  void listen(const PeerCall& call);
  /// Op::peer_dial.
  void dial(const PeerCall& call);
  /// That process is gone, as the driver says: it may not dial any more.
  void forget(std::uint64_t process);

private:
  class Handler;

  /// False if there is no thread for it.
  template <class F>
  bool in_background(F f);
  void open_door();
  void tell_driver_locked(PeerCall call);
  void greeted(const std::string& who, const std::shared_ptr<wire::Link>& link);
  void start(const std::shared_ptr<wire::Link>& link, std::shared_ptr<Handler> handler);

  const Parts parts_;
  caf::actor node_;
  std::atomic<std::uint64_t> links_ = 0;
  std::mutex mutex_;
  std::map<std::uint64_t, PeerSecret> expected_; ///< Who may dial.
  std::vector<PeerCall> waiting_;                ///< Until the door is open.
  std::unique_ptr<wire::Listener> listener_;
  std::unique_ptr<wire::LocalListener> local_listener_;
  std::string host_; ///< Of the listener.
};

} // namespace fiber::actors

FIBER_ACTOR_MESSAGE(fiber::actors::FromPeer)
FIBER_ACTOR_MESSAGE(fiber::actors::PeerClosed)
