// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "base/unique_fd.hpp"

namespace fiber::dashboard {

/// A client of the page that speaks plain text over a socket.
class Peer {
public:
  explicit Peer(std::uint16_t port, int receive_buffer = 0);

  void send(const std::string& text);
  /// Returns what has arrived as soon as it has `text` in it, or the peer has closed the
  /// connection, or half a minute has passed. Keeps what comes behind.
  std::string read_until(const std::string& text);
  /// Returns whether the peer closed the connection within half a minute.
  bool closes();
  /// Returns the answer to GET `target`, to its end.
  std::string get(const std::string& target, const std::string& more_headers = {});
  /// Returns the next picture of a stream of events, as JSON text.
  std::string next_picture();

private:
  bool receive();

  UniqueFd socket_;
  std::string in_;
  bool ended_ = false;
};

/// Returns the whole answer to a request of its own connection.
std::string ask(std::uint16_t port, const std::string& request);
std::string get(std::uint16_t port, const std::string& target,
                const std::string& more_headers = {});

} // namespace fiber::dashboard
