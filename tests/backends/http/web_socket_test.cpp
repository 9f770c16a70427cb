// SPDX-License-Identifier: Apache-2.0
// The promise: messages of a WebSocket come out whole, however the server cuts its bytes
// and frames, and a server that breaks the protocol is an error.
#include "backends/http/web_socket.hpp"

#include <gtest/gtest.h>

#include <utility>

namespace fiber::backends::http {
namespace {

using Messages = std::vector<std::pair<WebSocketKind, std::string>>;

/// A frame as a server sends it: not masked.
std::string frame(int first, std::string payload) {
  std::string bytes(1, static_cast<char>(first));
  if (payload.size() < 126)
    return bytes + static_cast<char>(payload.size()) + payload;
  bytes += static_cast<char>(126);
  bytes += static_cast<char>(payload.size() >> 8);
  return bytes + static_cast<char>(payload.size() & 0xff) + payload;
}

/// Feeds bytes in pieces of a size, and returns what broke the protocol.
std::string feed(const std::string& bytes, std::size_t piece, Messages& messages) {
  WebSocketReader reader;
  std::string problem;
  for (std::size_t at = 0; at < bytes.size() && problem.empty(); at += piece)
    problem = reader.feed(bytes.substr(at, piece), [&](auto kind, auto payload) {
      messages.emplace_back(kind, std::string(payload));
    });
  return problem;
}

/// Returns the payload of a client's frame.
std::string unmasked(const std::string& bytes) {
  auto size = static_cast<unsigned char>(bytes[1]) & 0x7f;
  std::size_t head = size == 127 ? 10 : size == 126 ? 4 : 2;
  auto mask = bytes.substr(head, 4), text = bytes.substr(head + 4);
  for (std::size_t i = 0; i < text.size(); ++i)
    text[i] = static_cast<char>(text[i] ^ mask[i % 4]);
  return text;
}

TEST(WebSocket, messages_come_whole_however_they_are_cut) {
  std::string longer(1000, 'x');
  auto bytes = frame(0x82, "one") + frame(0x02, "tw") + frame(0x89, "ping") +
               frame(0x00, "o") + frame(0x80, "!") + frame(0x81, longer) +
               frame(0x88, "");
  Messages expected{{WebSocketKind::binary, "one"},
                    {WebSocketKind::ping, "ping"},
                    {WebSocketKind::binary, "two!"},
                    {WebSocketKind::text, longer},
                    {WebSocketKind::close, ""}};
  for (std::size_t piece : {1U, 2U, 3U, 7U, 5000U}) {
    Messages messages;
    EXPECT_EQ(feed(bytes, piece, messages), "");
    EXPECT_EQ(messages, expected) << "in pieces of " << piece;
  }
}

TEST(WebSocket, a_server_that_breaks_the_protocol_is_an_error) {
  Messages messages;
  EXPECT_NE(feed("\xc2\x01x", 1, messages), "");      // A reserved bit.
  EXPECT_NE(feed("\x82\x81zzzzx", 1, messages), "");  // Masked.
  EXPECT_NE(feed(frame(0x80, "x"), 1, messages), ""); // Continues nothing.
  EXPECT_NE(feed(frame(0x83, "x"), 1, messages), ""); // No such kind.
  EXPECT_NE(feed("\x82\x7f\x7f\xff\xff\xff\xff\xff\xff\xff", 1, messages), ""); // Length.
  EXPECT_NE(feed("\x89\x7e\x01\x01", 4, messages), ""); // A ping that is too long.
  EXPECT_TRUE(messages.empty());
}

TEST(WebSocket, a_clients_frame_is_masked_and_says_its_length) {
  for (std::size_t size : {0U, 125U, 126U, 65535U, 65536U}) {
    std::string payload(size, 'y');
    auto bytes = web_socket_frame(WebSocketKind::binary, payload);
    EXPECT_EQ(static_cast<unsigned char>(bytes[0]), 0x82U);
    EXPECT_NE(static_cast<unsigned char>(bytes[1]) & 0x80U, 0U);
    EXPECT_EQ(unmasked(bytes), payload) << size;
  }
}

TEST(WebSocket, each_connection_has_a_key_of_its_own) {
  auto headers = web_socket_headers("p");
  EXPECT_EQ(headers[0], "Sec-WebSocket-Version: 13");
  EXPECT_EQ(headers[1].size(), std::string("Sec-WebSocket-Key: ").size() + 24);
  EXPECT_NE(headers[1], web_socket_headers("p")[1]);
  EXPECT_EQ(headers[2], "Sec-WebSocket-Protocol: p");
}

} // namespace
} // namespace fiber::backends::http
