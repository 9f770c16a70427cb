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

/// An outgoing message.
struct Outgoing {
  Bytes head;
  Payload body;
  std::size_t sent = 0; ///< Bytes already cut into pieces.
  /// Size of the common head for append(); 0: nothing may be appended.
  std::size_t appendable = 0;
  std::size_t size() const { return head.size() + body.size(); }
};

/// The content of one gathered write: headers and small parts are copied together, long
/// parts are referenced.
class Batch {
public:
  Batch();

  /// Returns whether another piece fits.
  bool has_room() const;
  bool empty() const { return next_ == count_; }
  std::size_t bytes() const { return bytes_; }

  /// Copies control frames, which must fit.
  void add_control(std::span<const std::byte> frames);
  /// Adds `length` bytes of `message`, from message.sent on, as one piece. Long parts are
  /// referenced: until clear(), `message` must not move except into keep().
  void add_piece(StreamId stream, Outgoing& message, std::size_t length);
  /// Keeps a message alive until clear(), once its last piece was added.
  void keep(Outgoing message);

  std::span<const iovec> pending() const {
    return std::span(parts_).subspan(next_, count_ - next_);
  }
  /// Removes the first `count` bytes of pending(), which were written.
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
