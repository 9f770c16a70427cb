// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include <sys/uio.h>

#include "base/unique_fd.hpp"

namespace fiber::wire {

/// The outcome of one read or write.
struct IoResult {
  enum class State { ok, blocked, end, failed };
  std::size_t bytes = 0;
  State state = State::ok;
  std::string error{}; ///< Set on failure.
};

/// A connected, non-blocking byte stream, plain or encrypted.
///
/// Thread safety: one thread may read while one other writes.
class Transport {
public:
  virtual ~Transport() = default;
  /// Reads into `into`. Fewer bytes than asked for, also ok with 0 bytes, mean that no
  /// more are available now.
  virtual IoResult read(std::span<const iovec> into) = 0;
  /// Writes as much of `from` as possible. If blocked, call it again when the socket is
  /// writable, even if all of `from` was taken. An empty `from` flushes internal buffers.
  virtual IoResult write(std::span<const iovec> from) = 0;
  /// Returns whether reading has produced bytes to write (a TLS key update): call
  /// write().
  virtual bool must_write() const { return false; }
  /// Returns the bytes that write() has taken and the socket has not. Call it while no
  /// thread writes.
  virtual std::size_t held_bytes() const { return 0; }
  /// Returns the bytes that the socket has taken and the kernel has not sent, because the
  /// peer has to acknowledge earlier ones first. They are lost if this process is killed
  /// while it has unread bytes: the kernel resets the connection then.
  virtual std::size_t unsent_bytes() const { return 0; }
  virtual int fd() const = 0;
};

std::unique_ptr<Transport> make_plain_transport(UniqueFd socket);

/// Send and receive without SIGPIPE and without blocking; for transports.
IoResult send_some(int fd, std::span<const iovec> from);
IoResult receive_some(int fd, std::span<const iovec> into);

} // namespace fiber::wire
