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

/// Callbacks of a Receiver.
class ReceiverSink {
public:
  /// Returns false to stop reading: the link is closed.
  virtual bool message(StreamId stream, Bytes message) = 0;
  /// The peer grants `bytes` more on `stream`. Returns false if that exceeds its window.
  virtual bool credit(StreamId stream, std::uint32_t bytes) = 0;
  /// The peer announces the initial credit of each stream. Returns false if it did
  /// before.
  virtual bool window(std::uint32_t bytes) = 0;
  virtual void goodbye(std::string reason) = 0;
  /// We should grant the peer `bytes` more on `stream`.
  virtual void grant(StreamId stream, std::uint32_t bytes) = 0;

protected:
  ~ReceiverSink() = default;
};

/// Turns the bytes of a link into messages. Does no input itself: the caller fills
/// space() and calls commit(). Trusts nothing: bytes that no sender of ours writes end it
/// with an error, and memory grows with the bytes received, not with those announced.
class Receiver {
public:
  using Space = std::array<std::span<std::byte>, 2>;

  Receiver(ReceiverSink& sink, const LinkOptions& options);

  /// Returns the place for the next bytes; the second part, maybe empty, follows the
  /// first. Within a long piece the first part is the message's own memory, which avoids
  /// a copy.
  Space space();
  /// Processes the first `count` bytes of space(). Returns false if the link must be
  /// closed; see error().
  bool commit(std::size_t count);
  /// Returns why commit() returned false; empty if the sink stopped it.
  const std::string& error() const { return error_; }
  /// Returns the memory held for incomplete messages.
  std::size_t held_bytes() const;

private:
  struct Stream {
    Bytes message;              ///< The incomplete message.
    std::size_t filled = 0;     ///< Bytes of it received.
    std::uint64_t total = 0;    ///< Its announced length.
    bool open = false;          ///< A message has begun and not ended.
    std::uint64_t consumed = 0; ///< Credit used and not granted again.
  };
  enum class Step { done, more, failed };

  Step parse();
  Step control(const FrameHeader& header);
  Step begin_piece(const FrameHeader& header);
  Step end_piece();
  void take(std::size_t count);
  std::span<std::byte> room_for(std::size_t count);
  Step consume(StreamId id, Stream& stream, std::uint64_t cost);
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
  Stream* recent_ = nullptr; ///< Cached &streams_[recent_id_].
  Stream* piece_ = nullptr;  ///< Stream of the current piece.
  FrameHeader header_;       ///< Header of that piece.
  std::size_t left_ = 0;     ///< Missing bytes of it.
  std::size_t direct_ = 0;   ///< Bytes of piece_->message that space() lent.
  std::string error_;
};

} // namespace fiber::wire
