// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <memory>
#include <span>
#include <utility>

namespace peers {

/// A descriptor that is closed with this object.
class Socket {
public:
  Socket() = default;
  explicit Socket(int fd) : fd_(fd) {}
  Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Socket& operator=(Socket&& other) noexcept;
  ~Socket() { close(); }

  int fd() const { return fd_; }
  void close();

private:
  int fd_ = -1;
};

/// Two ends of a socket pair.
std::array<Socket, 2> local_pair();

/// Two ends of a TCP connection over loopback, without Nagle's delay.
std::array<Socket, 2> tcp_pair();

/// Blocking bytes. Both members throw std::runtime_error when the connection breaks.
class Channel {
public:
  virtual ~Channel() = default;
  virtual void write(std::span<const char> bytes) = 0;
  /// Fills `bytes`. False if the peer has closed before the first byte.
  virtual bool read(std::span<char> bytes) = 0;
};

/// With `tls`, shakes hands first: TLS 1.3, a certificate of its own for the server.
std::unique_ptr<Channel> make_channel(Socket socket, bool tls, bool server);

} // namespace peers
