// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "wire/certificates.hpp"
#include "wire/link.hpp"

namespace fiber::wire {

class Reactor;

/// Identifies a process to its peer. Both ends send one after the TLS handshake; session
/// and build must be equal, and the certificate must be the incarnation's.
struct Hello {
  std::string session;           ///< Random, one per session.
  std::string build;             ///< Build id of the executable.
  std::uint64_t incarnation = 0; ///< The job's; 0 for the driver.
};

/// The address and time limits of a Listener.
struct ListenerOptions {
  /// Address to bind: a numeric IPv4 or IPv6 address, or a name.
  std::string host = "127.0.0.1";
  std::uint16_t port = 0; ///< 0: any free port.
  /// The machine may not have this address yet: it is reached there once it has it.
  bool later = false;
  /// Limit from the begin of a handshake to Hello, after which the peer is dropped.
  std::chrono::milliseconds handshake_limit{10000};
  /// The same limit while other peers wait for a place.
  std::chrono::milliseconds crowded_limit{1000};
  LinkOptions link = {};
};

/// Accepts links by mutual TLS 1.3. A stranger (no certificate or another process's,
/// plain TCP, another session or build, garbage, silence) is dropped with one warning
/// that names the peer and the reason. It delays nobody: handshakes run concurrently on a
/// thread of the listener, and peers of one address can't take all places.
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

/// Connects to a Listener of the process whose incarnation is `peer` (0: the driver).
/// Blocks for at most `limit` and retries while the peer refuses the TCP connection or
/// ends it before it has said who it is, as a listener does that has too many at a time.
/// Throws WireError, naming the address and the reason: unreachable, not of this session,
/// another process of it, another build (with both ids).
std::shared_ptr<Link> dial(Reactor& reactor, const std::string& host, std::uint16_t port,
                           const Identity& identity, const Hello& own, std::uint64_t peer,
                           std::chrono::milliseconds limit, LinkOptions options = {});

} // namespace fiber::wire
