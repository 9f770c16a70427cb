// SPDX-License-Identifier: Apache-2.0
#include "wire/frame.hpp"

#include <algorithm>

namespace fiber::wire {
namespace {

constexpr std::uint8_t first_flag = 1;
constexpr std::uint8_t last_flag = 2;

// The wire is little-endian on every machine. Compilers turn these into one
// instruction.
template <class T>
void store(T value, std::byte* out) {
  for (std::size_t i = 0; i < sizeof(T); ++i)
    out[i] = static_cast<std::byte>(value >> (8 * i));
}

template <class T>
T load(const std::byte* in) {
  T value = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i)
    value |= static_cast<T>(std::to_integer<T>(in[i]) << (8 * i));
  return value;
}

/// Returns why no sender of ours writes such a header, or null.
const char* fault(const FrameHeader& header) {
  switch (header.type) {
  case FrameType::message:
    return nullptr;
  case FrameType::credit:
    return header.length == 0 ? "a credit frame that grants nothing" : nullptr;
  case FrameType::window:
    if (header.stream != 0)
      return "a window frame for a single stream";
    return header.length < initial_window ? "a window below the initial one" : nullptr;
  case FrameType::heartbeat:
    return header.stream != 0 || header.length != 0 ? "a heartbeat with contents"
                                                    : nullptr;
  case FrameType::goodbye:
  case FrameType::hello:
  case FrameType::refuse:
    if (header.stream != 0)
      return "a control frame on a stream";
    return header.length > control_payload_limit ? "a control frame that is too long"
                                                 : nullptr;
  }
  return "an unknown frame type";
}

} // namespace

std::size_t usable_window(const LinkOptions& options) {
  return std::clamp(options.window_bytes, initial_window, std::size_t{1} << 30);
}

void encode(const FrameHeader& header, std::byte* out) {
  out[0] = static_cast<std::byte>(header.type);
  out[1] = static_cast<std::byte>((header.first ? first_flag : 0) |
                                  (header.last ? last_flag : 0));
  out[2] = out[3] = std::byte{0};
  store(header.stream, out + 4);
  store(header.length, out + 8);
}

void encode_total(std::uint64_t total, std::byte* out) {
  store(total, out);
}
std::uint64_t decode_total(const std::byte* in) {
  return load<std::uint64_t>(in);
}

std::optional<FrameHeader> decode(const std::byte* in, std::string& error) {
  const auto flags = std::to_integer<std::uint8_t>(in[1]);
  FrameHeader header{static_cast<FrameType>(in[0]), (flags & first_flag) != 0,
                     (flags & last_flag) != 0, load<std::uint32_t>(in + 4),
                     load<std::uint32_t>(in + 8)};
  const char* reason = fault(header);
  if (!reason && (in[2] != std::byte{0} || in[3] != std::byte{0} ||
                  (flags & ~(first_flag | last_flag)) != 0 ||
                  (flags != 0 && header.type != FrameType::message)))
    reason = "reserved bits set";
  if (!reason)
    return header;
  error = reason;
  return std::nullopt;
}

void append_control(Bytes& out, FrameType type, StreamId stream, std::uint32_t length,
                    std::span<const std::byte> payload) {
  const auto at = out.size();
  out.resize(at + frame_header_bytes);
  encode({type, false, false, stream, length}, out.data() + at);
  out.insert(out.end(), payload.begin(), payload.end());
}

} // namespace fiber::wire
