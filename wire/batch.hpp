// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include <sys/uio.h>

#include "fiber/bytes.hpp"
#include "wire/frame.hpp"

namespace fiber::wire {

/// One message on its way out.
struct Outgoing {
  Bytes head;
  Payload body;
  std::size_t sent = 0;  ///< Bytes of it already cut into pieces.
  std::size_t grows = 0; ///< Not 0: what is appended must begin with so much of `head`.
  std::size_t size() const { return head.size() + body.size(); }
};

/// What one gathered write hands to the socket: headers and small parts copied together,
/// long parts by reference.
class Batch {
public:
  Batch();

  /// True if another piece fits.
  bool has_room() const;
  bool empty() const { return next_ == count_; }
  std::size_t bytes() const { return bytes_; }

  /// Copies whole control frames in; takes at most what fits, and returns how much.
  void add_control(std::span<const std::byte> frames);
  /// Adds `length` bytes of `message` from message.sent on as one piece. Long parts are
  /// referenced: `message` must stay where it is until clear(), or be given to keep().
  void add_piece(StreamId stream, Outgoing& message, std::size_t length);
  /// Holds a message whose last piece was added until clear().
  void keep(Outgoing message);

  std::span<const iovec> pending() const {
    return std::span(parts_).subspan(next_, count_ - next_);
  }
  /// The first `count` bytes of pending() are written.
  void advance(std::size_t count);
  void clear();

private:
  void copy(std::span<const std::byte> bytes);
  void refer(std::span<const std::byte> bytes);
  void add(std::span<const std::byte> bytes);

  std::unique_ptr<std::byte[]> scratch_;
  std::size_t used_ = 0;
  std::array<iovec, 64> parts_;
  std::size_t next_ = 0, count_ = 0;
  std::size_t bytes_ = 0;
  std::vector<Outgoing> kept_;
};

} // namespace fiber::wire
