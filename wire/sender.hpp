// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <unordered_map>

#include "wire/batch.hpp"
#include "wire/frame.hpp"
#include "wire/link.hpp"

namespace fiber::wire {

/// The outgoing side of a link: queues messages and decides what goes out next. Streams
/// with data and credit take turns, a piece each. Does no output itself.
///
/// Not thread-safe: the link's mutex guards it.
class Sender {
public:
  explicit Sender(const LinkOptions& options) : piece_bytes_(options.piece_bytes) {}

  void push(StreamId stream, Outgoing message);
  /// See Link::append(). Returns whether `part` joined an earlier message.
  bool append(StreamId stream, std::span<const std::byte> head,
              std::span<const std::byte> part);
  /// Returns the queue of control frames, which go out before any message.
  Bytes& control() { return control_; }
  /// Handles the peer's grant. Returns false if it exceeds the window.
  bool credit(StreamId stream, std::uint32_t bytes);
  /// Handles the peer's window frame. Returns false if it is not the first.
  bool window(std::uint32_t bytes);

  bool idle() const { return ready_.empty() && control_.empty(); }
  std::size_t queued_bytes() const { return queued_bytes_; }
  /// Adds to `batch` what goes out next.
  void fill(Batch& batch);
  /// Drops everything that is queued.
  void clear();

private:
  struct Stream {
    StreamId id = 0;
    std::uint64_t credit = 0;
    std::deque<Outgoing> queue;
    bool ready = false; ///< Listed in ready_.
  };
  Stream& find(StreamId id);
  std::size_t next_piece(const Stream& stream) const;
  bool may_send(const Stream& stream) const;
  void make_ready(Stream& stream);
  bool take_turn(Stream& stream, Batch& batch);

  const std::size_t piece_bytes_;
  std::uint64_t window_ = initial_window;
  bool window_known_ = false;
  std::unordered_map<StreamId, Stream> streams_;
  Stream* recent_ = nullptr;
  std::deque<Stream*> ready_;
  Bytes control_;
  std::size_t queued_bytes_ = 0;
};

} // namespace fiber::wire
