// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>

#include "wire/frame.hpp"
#include "wire/link.hpp"

namespace fiber::wire {

/// What a Receiver has found in the bytes.
class ReceiverSink {
public:
  /// False: read no further, the link is closed.
  virtual bool message(StreamId stream, Bytes message) = 0;
  /// The peer lets us send `bytes` more on `stream`. False: more than it ever can.
  virtual bool credit(StreamId stream, std::uint32_t bytes) = 0;
  /// The peer says the credit with which each stream starts. False: it had said it
  /// already.
  virtual bool window(std::uint32_t bytes) = 0;
  virtual void goodbye(std::string reason) = 0;
  /// We should let the peer send `bytes` more on `stream`.
  virtual void grant(StreamId stream, std::uint32_t bytes) = 0;

protected:
  ~ReceiverSink() = default;
};

/// Turns the bytes of a link into messages. Does no input itself: fill space() and say
/// how much with commit(). Trusts nothing: bytes that no sender of ours writes end it
/// with a reason, and memory grows with the bytes that have arrived, not with those
/// announced.
class Receiver {
public:
  using Space = std::array<std::span<std::byte>, 2>;

  Receiver(ReceiverSink& sink, const LinkOptions& options);

  /// Where the next bytes belong; the second part (may be empty) follows the first.
  /// Within a long piece the first part is the message's own memory, so that nothing is
  /// copied.
  Space space();
  /// Takes the first `count` bytes of space(). False: the link must be closed; see
  /// error().
  bool commit(std::size_t count);
  /// Why commit() returned false; empty if the sink wanted to stop.
  const std::string& error() const { return error_; }
  /// Memory held for messages that have begun and not ended.
  std::size_t held_bytes() const;

private:
  struct Stream {
    Bytes message;              ///< Room for an incomplete one.
    std::size_t filled = 0;     ///< So much of it has arrived.
    std::uint64_t total = 0;    ///< Announced length of it.
    bool open = false;          ///< A message has begun and not ended.
    std::uint64_t consumed = 0; ///< Credit used and not yet granted again.
  };
  enum class Step { done, more, failed };

  Step parse();
  Step control(const FrameHeader& header);
  Step begin_piece(const FrameHeader& header);
  Step end_piece();
  void take(std::size_t count);
  std::span<std::byte> room_for(std::size_t count);
  Step give_back(StreamId id, Stream& stream, std::uint64_t cost);
  Stream* find(StreamId id);
  Step fail(std::string reason);
  std::size_t available() const { return end_ - begin_; }

  ReceiverSink& sink_;
  const std::size_t window_;
  const std::uint64_t message_limit_;
  std::unique_ptr<std::byte[]> buffer_;
  std::size_t begin_ = 0, end_ = 0; ///< Unread part of buffer_.
  std::unordered_map<StreamId, Stream> streams_;
  StreamId recent_id_ = 0;
  Stream* recent_ = nullptr; ///< streams_[recent_id_], found without a lookup.
  Stream* piece_ = nullptr;  ///< Stream of the piece that is coming in.
  FrameHeader header_;       ///< Of that piece.
  std::size_t left_ = 0;     ///< Bytes of it that are missing.
  std::size_t direct_ = 0;   ///< Bytes at the end of piece_->message that space() lent.
  std::string error_;
};

} // namespace fiber::wire
