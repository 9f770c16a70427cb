// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include <sys/uio.h>

#include "base/unique_fd.hpp"

namespace fiber::wire {

/// What one read or write has done.
struct IoResult {
  enum class State { ok, blocked, end, failed };
  std::size_t bytes = 0;
  State state = State::ok;
  std::string error{}; ///< Of a failure.
};

/// A connected, non-blocking byte stream, plain or encrypted.
///
/// Thread safety: one thread may read while one other writes.
class Transport {
public:
  virtual ~Transport() = default;
  /// Fills `into` as far as bytes are there; fewer than asked means that no more are
  /// there now. ok with 0 bytes means the same.
  virtual IoResult read(std::span<const iovec> into) = 0;
  /// Writes what it can of `from`. Blocked: call again when the socket is writable, even
  /// if all of `from` was taken. An empty `from` writes what is left inside.
  virtual IoResult write(std::span<const iovec> from) = 0;
  /// Reading has produced bytes to write (TLS key update): call write().
  virtual bool must_write() const { return false; }
  virtual int fd() const = 0;
};

std::unique_ptr<Transport> make_plain_transport(UniqueFd socket);

/// send() without SIGPIPE and without blocking; for the transports.
IoResult send_some(int fd, std::span<const iovec> from);
IoResult receive_some(int fd, std::span<const iovec> into);

} // namespace fiber::wire
