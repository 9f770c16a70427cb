// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "wire/reactor.hpp"

namespace fiber::observer {

/// Listens at a Unix socket and answers requests, which are JSON in one line each, by one
/// line of JSON. Peers must be of this user, or root.
///
/// The reactor accepts, and a thread that starts with the first peer does the rest. So a
/// session that nobody looks at has one more descriptor and nothing else. A peer that
/// stalls is dropped after some seconds, and holds up nobody.
class ObserverSocket {
public:
  /// Returns the reply to a request. Runs on the socket's thread; must not throw.
  using Handler = std::function<nlohmann::json(const nlohmann::json& request)>;

  /// Listens at `path`, whose folder exists. Throws std::runtime_error with the reason.
  ObserverSocket(wire::Reactor& reactor, std::string path, Handler handler);
  /// Removes the file, drops the peers and waits for the handler. Must not run on the
  /// reactor's thread.
  ~ObserverSocket();
  ObserverSocket(const ObserverSocket&) = delete;
  ObserverSocket& operator=(const ObserverSocket&) = delete;

  const std::string& path() const;

private:
  class Impl;
  std::shared_ptr<Impl> impl_;
  wire::Reactor& reactor_;
};

} // namespace fiber::observer
