// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "wire/link.hpp"

namespace fiber::wire {

// A link carries a sequence of frames (docs/internals/wire.md). A frame is a header of 12
// bytes, in the first of several pieces the length of the whole message, then `length`
// bytes.

enum class FrameType : std::uint8_t {
  message = 1,   ///< One piece of a message.
  credit = 2,    ///< Grants `length` more bytes on `stream`; no payload.
  window = 3,    ///< Sets the initial credit of each stream to `length`; no payload.
  heartbeat = 4, ///< Shows that the sender is alive.
  goodbye = 5,   ///< Announces an orderly end; the payload is the reason.
  hello = 6,     ///< Identifies the sender; only in the greeting.
  refuse = 7,    ///< Refuses the peer, with the reason; only in the greeting.
};

struct FrameHeader {
  FrameType type = FrameType::heartbeat;
  /// First piece of a message. If it is not the last too, the total length follows.
  bool first = false;
  bool last = false; ///< Last piece of a message.
  StreamId stream = 0;
  std::uint32_t length = 0;
};

inline constexpr std::size_t frame_header_bytes = 12;
inline constexpr std::size_t total_length_bytes = 8;
inline constexpr std::size_t control_payload_limit = 4096;

/// Credit that a piece costs in addition to its bytes, which bounds floods of empty
/// messages too.
inline constexpr std::size_t piece_cost = 16;
/// Credit of a stream before the peer's window is known.
inline constexpr std::size_t initial_window = 64 * 1024;

/// Returns the window of `options`, clamped to what a window frame can express.
std::size_t usable_window(const LinkOptions& options);

/// Writes frame_header_bytes to `out`.
void encode(const FrameHeader& header, std::byte* out);
void encode_total(std::uint64_t total, std::byte* out);
std::uint64_t decode_total(const std::byte* in);

/// Reads frame_header_bytes from `in`. Returns nothing and sets `error` if no sender of
/// ours writes such a header.
std::optional<FrameHeader> decode(const std::byte* in, std::string& error);

/// Appends a frame of any type but `message`.
void append_control(Bytes& out, FrameType type, StreamId stream, std::uint32_t length,
                    std::span<const std::byte> payload = {});

} // namespace fiber::wire
