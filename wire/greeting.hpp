// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "fiber/bytes.hpp"
#include "wire/frame.hpp"
#include "wire/listener.hpp"
#include "wire/tls_transport.hpp"

namespace fiber::wire {

/// Converts a Hello to and from the payload of a hello frame.
Bytes pack_hello(const Hello& hello);
std::optional<Hello> unpack_hello(std::span<const std::byte> bytes);

/// Turns a socket into a link's transport: the TLS handshake, then a Hello each way.
/// Never blocks: call step() again when the socket is ready for what it last wanted.
class Greeting {
public:
  Greeting(UniqueFd socket, const Identity& identity, TlsRole role, Hello own);

  using Progress = TlsTransport::Progress;
  Progress step();

  /// Returns whether the peer has said enough for an answer: its whole first message.
  bool answered() const { return transport_->answered(); }
  int fd() const { return transport_->fd(); }
  /// Returns why step() returned failed or lost, with the peer as the implied subject
  /// ("shows no certificate").
  const std::string& error() const { return error_; }
  /// Returns what the peer failed to do in time, in the same form.
  std::string unfinished() const;

  // Valid once step() has returned done.
  const Hello& peer() const { return peer_; }
  /// Returns whether step() failed because the peer runs another build.
  bool other_build() const { return other_build_; }
  std::unique_ptr<TlsTransport> take_transport() { return std::move(transport_); }

private:
  enum class Phase { handshake, receive, send, refuse, done };
  Progress receive();
  Progress send(Phase next);
  void queue(FrameType type, const Bytes& payload);
  bool check_peer();
  Progress fail(std::string reason, Progress how = Progress::failed);
  Progress refused(const std::string& words);

  std::unique_ptr<TlsTransport> transport_;
  const TlsRole role_;
  const Hello own_;
  Hello peer_;
  Phase phase_ = Phase::handshake;
  Bytes in_, out_;
  std::size_t sent_ = 0;
  std::string error_;
  bool other_build_ = false;
};

} // namespace fiber::wire
