// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "actors/objects/object_space.hpp"
#include "actors/objects/peer_introductions.hpp"
#include "wire/listener.hpp"
#include "wire/local_listener.hpp"
#include "wire/refusal_log.hpp"

namespace fiber::actors {

class JobNode;

/// Makes the direct links of a job to other jobs when the driver asks for them: over
/// mutual TLS with the job's certificate if the job has reached its driver so, otherwise
/// over local sockets. Both ends prove themselves with the secret that the driver has
/// given them. A failure costs one line in the log, and the two jobs go on through the
/// driver. A link for a shared value lasts until the value has arrived.
///
/// Thread safety: any thread may call any member function.
class PeerLinks : public std::enable_shared_from_this<PeerLinks> {
public:
  struct Parts {
    wire::Reactor* reactor = nullptr; ///< Outlives this.
    std::shared_ptr<ObjectSpace> objects;
    std::shared_ptr<wire::Link> driver;
    wire::LinkOptions link = {};
    // For TLS:
    std::optional<wire::Identity> identity = std::nullopt;
    wire::Hello hello = {};
    std::function<std::string()> own_address = {}; ///< Where other jobs reach this one.
  };

  explicit PeerLinks(Parts parts) : parts_(std::move(parts)) {}
  /// Sets the node that gets what direct links bring. Call it before all others.
  void tell(const std::shared_ptr<JobNode>& node) { node_ = node; }

  // None of these blocks.

  /// Obeys Op::peer_listen.
  void listen(const PeerCall& call);
  /// Obeys Op::peer_dial.
  void dial(const PeerCall& call);
  /// The driver says that the process is gone: it may no longer dial.
  void forget(std::uint64_t process);

private:
  class Handler;

  /// Runs `f` in a thread of its own. Returns false if there can be no such thread.
  template <class F>
  bool in_background(F f);
  void open_listener();
  void dial_now(const PeerCall& call);
  void tell_driver_locked(PeerCall call);
  void can_not_listen_locked();
  void greeted(const std::string& who, const std::shared_ptr<wire::Link>& link);
  void start(const std::shared_ptr<wire::Link>& link, std::shared_ptr<Handler> handler);

  const Parts parts_;
  std::weak_ptr<JobNode> node_;
  std::atomic<std::uint64_t> links_ = 0;
  std::mutex mutex_;
  using Expected = std::pair<std::uint64_t, std::uint64_t>; ///< A job and a shared value.
  std::map<Expected, PeerSecret> expected_;                 ///< The links to dial.
  std::vector<PeerCall> waiting_; ///< Calls until the listener is there.
  std::unique_ptr<wire::Listener> listener_;
  std::unique_ptr<wire::LocalListener> local_listener_;
  std::string host_;          ///< Of the listener.
  wire::RefusalLog refusals_; ///< Used on the reactor's thread only.
};

} // namespace fiber::actors
