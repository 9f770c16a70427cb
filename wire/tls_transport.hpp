// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <string>

#include "base/unique_fd.hpp"
#include "wire/openssl.hpp"
#include "wire/transport.hpp"

namespace fiber::wire {

enum class TlsRole { client, server };

/// TLS 1.3 over a non-blocking socket. OpenSSL only sees memory. The system calls are
/// ours: they move many records at once, cause no SIGPIPE and, except in the handshake,
/// do not hold the lock that guards the SSL object.
class TlsTransport final : public Transport {
public:
  TlsTransport(UniqueFd socket, const Identity& identity, TlsRole role);
  ~TlsTransport() override;

  /// lost: the peer has left, or the connection broke. failed: anything else.
  enum class Progress { done, want_read, want_write, lost, failed };
  /// Continues the handshake as far as possible. Sets `error` if it failed.
  Progress handshake(std::string& error);
  /// Returns whether the handshake has got far enough for a first message to the peer: a
  /// listener has read a whole ClientHello.
  bool answered() const { return answered_; }
  /// Returns the name in the peer's verified certificate. Valid after the handshake.
  std::string peer_name() const;

  IoResult read(std::span<const iovec> into) override;
  IoResult write(std::span<const iovec> from) override;
  bool must_write() const override { return must_write_; }
  std::size_t held_bytes() const override;
  std::size_t unsent_bytes() const override;
  int fd() const override { return socket_.get(); }

private:
  class Memory;

  IoResult fill();
  IoResult send_encrypted();
  bool encrypt(std::span<const iovec>& from, std::size_t& skip, std::size_t& taken);
  std::string handshake_error() const;

  UniqueFd socket_;
  Identity identity_; ///< Keeps the SSL_CTX alive.
  std::unique_ptr<Memory> memory_;
  mutable std::mutex mutex_; ///< Guards ssl_ and memory_->out.
  SslPtr ssl_;
  Bytes sending_; ///< Encrypted bytes; used by the writing thread only.
  std::size_t sent_ = 0;
  std::atomic<bool> must_write_ = false;
  bool ended_ = false, answered_ = false;
};

} // namespace fiber::wire
