// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "wire/link.hpp"
#include "wire/tls.hpp"

namespace fiber::wire {

class Reactor;

/// Who speaks at the other end, said once after the TLS handshake. Both ends say it;
/// session and build must be equal.
struct Hello {
  std::string session;           ///< Random, one a session.
  std::string build;             ///< Build id of the executable.
  std::uint64_t incarnation = 0; ///< Of the job; 0 for the driver.
};

/// Where to listen and with which patience.
struct ListenerOptions {
  std::string host =
    "127.0.0.1";          ///< Address to bind; a numeric IPv4 or IPv6 address or a name.
  std::uint16_t port = 0; ///< 0: any free one.
  std::chrono::milliseconds handshake_limit{
    10000}; ///< TCP accept to Hello; then the peer is dropped.
  LinkOptions link = {};
};

/// Accepts links by mutual TLS 1.3. A stranger (no certificate, plain TCP, another
/// session or build, garbage, silence) is dropped with one warning that says who and why,
/// and holds up nobody: handshakes run side by side on a thread of the listener's own.
class Listener {
public:
  using Accept = std::function<void(Hello, std::shared_ptr<Link>)>;

  /// Throws WireError if the address cannot be bound. `accept` is called on the reactor's
  /// thread.
  Listener(Reactor& reactor, Identity identity, Hello own, ListenerOptions options,
           Accept accept);
  ~Listener();

  std::uint16_t port() const;

private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// Connects to a Listener; blocks at most `limit`, trying again while the peer refuses
/// the TCP connection. Throws WireError that names the address and the reason: not
/// reachable, not of this session, another build (both ids named).
std::shared_ptr<Link> dial(Reactor& reactor, const std::string& host, std::uint16_t port,
                           const Identity& identity, const Hello& own,
                           std::chrono::milliseconds limit, LinkOptions options = {});

} // namespace fiber::wire
