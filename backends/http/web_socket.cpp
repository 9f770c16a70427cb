// SPDX-License-Identifier: Apache-2.0
#include "backends/http/web_socket.hpp"

#include <array>
#include <cstdint>
#include <random>

namespace fiber::backends::http {

namespace {

constexpr unsigned last_frame = 0x80, masked = 0x80, reserved = 0x70, control = 0x08;
constexpr unsigned two_bytes = 126, eight_bytes = 127; // As many bytes of length follow.
constexpr std::size_t longest_control = 125;

unsigned byte(std::string_view bytes, std::size_t at) {
  return static_cast<unsigned char>(bytes[at]);
}

std::string big_endian(std::uint64_t number, int bytes) {
  std::string text;
  while (bytes-- > 0)
    text += static_cast<char>(number >> (8 * bytes) & 0xff);
  return text;
}

std::string base64_of_16_bytes() {
  constexpr std::string_view letters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::random_device random;
  std::string text;
  for (int i = 0; i < 21; ++i)
    text += letters[random() % letters.size()];
  return text + "A=="; // The last of 22 letters has two bits.
}

} // namespace

std::vector<std::string> web_socket_headers(const std::string& protocol) {
  return {"Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: " + base64_of_16_bytes(),
          "Sec-WebSocket-Protocol: " + protocol};
}

std::string web_socket_frame(WebSocketKind kind, std::string_view payload) {
  thread_local std::minstd_rand random(std::random_device{}());
  std::string frame(1, static_cast<char>(last_frame | static_cast<unsigned>(kind)));
  auto size = payload.size();
  if (size < two_bytes)
    frame += static_cast<char>(masked | size);
  else if (size <= UINT16_MAX)
    frame += static_cast<char>(masked | two_bytes) + big_endian(size, 2);
  else
    frame += static_cast<char>(masked | eight_bytes) + big_endian(size, 8);
  auto mask = big_endian(random(), 4);
  frame += mask;
  for (std::size_t i = 0; i < size; ++i)
    frame += static_cast<char>(payload[i] ^ mask[i % mask.size()]);
  return frame;
}

std::string WebSocketReader::feed(std::string_view bytes, const OnMessage& on_message) {
  bytes_ += bytes;
  std::string_view rest = bytes_;
  while (problem_.empty()) {
    auto taken = take_frame(rest, on_message);
    if (taken == 0)
      break;
    rest.remove_prefix(taken);
  }
  bytes_.erase(0, bytes_.size() - rest.size());
  return problem_;
}

std::size_t WebSocketReader::take_frame(std::string_view bytes,
                                        const OnMessage& on_message) {
  if (bytes.size() < 2)
    return 0;
  auto first = byte(bytes, 0), second = byte(bytes, 1);
  if ((first & reserved) != 0 || (second & masked) != 0) {
    problem_ = "the server sent a frame that is not allowed";
    return 0;
  }
  std::size_t head = 2;
  std::uint64_t size = second;
  if (size >= two_bytes) {
    auto digits = std::size_t{size == two_bytes ? 2U : 8U};
    if (bytes.size() < head + digits)
      return 0;
    size = 0;
    for (std::size_t i = 0; i < digits; ++i)
      size = size << 8 | byte(bytes, head + i);
    head += digits;
  }
  bool is_control = (first & control) != 0;
  if (size > longest_message || (is_control && size > longest_control)) {
    problem_ = "the server sent a frame that is too long";
    return 0;
  }
  if (bytes.size() - head < size)
    return 0;
  take_payload((first & last_frame) != 0, static_cast<int>(first & 0x0f),
               bytes.substr(head, size), on_message);
  return head + size;
}

void WebSocketReader::take_payload(bool last, int kind, std::string_view payload,
                                   const OnMessage& on_message) {
  switch (kind) {
  case static_cast<int>(WebSocketKind::close):
  case static_cast<int>(WebSocketKind::ping):
  case static_cast<int>(WebSocketKind::pong):
    return on_message(static_cast<WebSocketKind>(kind), payload);
  case static_cast<int>(WebSocketKind::text):
  case static_cast<int>(WebSocketKind::binary):
    message_.clear();
    kind_ = static_cast<WebSocketKind>(kind);
    break;
  case static_cast<int>(WebSocketKind::more):
    if (kind_ != WebSocketKind::more)
      break;
    [[fallthrough]];
  default:
    problem_ = "the server sent a frame of an unknown kind";
    return;
  }
  if (message_.size() + payload.size() > longest_message) {
    problem_ = "the server sent a message that is too long";
    return;
  }
  message_ += payload;
  if (!last)
    return;
  on_message(kind_, message_);
  kind_ = WebSocketKind::more;
  message_.clear();
}

} // namespace fiber::backends::http
