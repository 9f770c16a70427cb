// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "wire/link.hpp"

namespace fiber::wire {

// What goes over a link is a sequence of frames (docs/wire.md): a header of 12 bytes, for
// the first of several pieces the length of the whole message, then `length` bytes.

enum class FrameType : std::uint8_t {
  message = 1,   ///< One piece of a message.
  credit = 2,    ///< `length` more bytes may come on `stream`; no payload.
  window = 3,    ///< Every stream starts with `length` bytes of credit; no payload.
  heartbeat = 4, ///< Says that we are alive.
  goodbye = 5,   ///< An orderly end follows; the payload says why.
  hello = 6,     ///< Who speaks; only before the link begins.
  refuse = 7,    ///< Why the other side is refused; only before the link begins.
};

struct FrameHeader {
  FrameType type = FrameType::heartbeat;
  bool first =
    false; ///< Of a message; not last as well: the total length follows the header.
  bool last = false; ///< Of a message.
  StreamId stream = 0;
  std::uint32_t length = 0;
};

inline constexpr std::size_t frame_header_bytes = 12;
inline constexpr std::size_t total_length_bytes = 8;
inline constexpr std::size_t control_payload_limit = 4096;

/// What one piece takes from a stream's credit beside its bytes, so that a flood of empty
/// messages is bounded as well.
inline constexpr std::size_t piece_cost = 16;
/// Credit of a stream before the peer's window is known.
inline constexpr std::size_t initial_window = 64 * 1024;

/// The window that `options` ask for, within what a window frame can say.
std::size_t usable_window(const LinkOptions& options);

/// Writes frame_header_bytes to `out`.
void encode(const FrameHeader& header, std::byte* out);
void encode_total(std::uint64_t total, std::byte* out);
std::uint64_t decode_total(const std::byte* in);

/// Reads frame_header_bytes from `in`; nothing and a reason in `error` if no sender of
/// ours writes such a header.
std::optional<FrameHeader> decode(const std::byte* in, std::string& error);

/// Appends a whole frame of another type than message.
void append_control(Bytes& out, FrameType type, StreamId stream, std::uint32_t length,
                    std::span<const std::byte> payload = {});

} // namespace fiber::wire
