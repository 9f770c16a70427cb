// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace fiber::backends::http {

/// The kinds of frames of a WebSocket (RFC 6455) that are used here.
enum class WebSocketKind {
  more = 0,
  text = 1,
  binary = 2,
  close = 8,
  ping = 9,
  pong = 10
};

/// The headers of a request for an upgrade to a WebSocket with a protocol above it.
std::vector<std::string> web_socket_headers(const std::string& protocol);

/// Returns a frame of a client: one whole message.
std::string web_socket_frame(WebSocketKind kind, std::string_view payload);

/// Puts the messages of a server together, however its bytes and frames are cut.
class WebSocketReader {
public:
  using OnMessage = std::function<void(WebSocketKind kind, std::string_view payload)>;
  static constexpr std::size_t longest_message = std::size_t{64} << 20;

  /// Takes bytes and calls back for each message that is whole. Returns why the server
  /// broke the protocol, or an empty string; after that nothing more may be fed.
  std::string feed(std::string_view bytes, const OnMessage& on_message);

private:
  /// Takes the first frame, if it is whole. Returns its length, 0 if more bytes are
  /// needed.
  std::size_t take_frame(std::string_view bytes, const OnMessage& on_message);
  void take_payload(bool last, int kind, std::string_view payload,
                    const OnMessage& on_message);

  std::string bytes_, message_, problem_;
  WebSocketKind kind_ = WebSocketKind::more; // Of the message that goes on.
};

} // namespace fiber::backends::http
