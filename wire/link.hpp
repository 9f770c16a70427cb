// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "fiber/bytes.hpp"

namespace fiber::wire {

/// Messages of one stream arrive in order; streams do not wait for each other.
using StreamId = std::uint32_t;

/// How a link behaves. Both ends must agree on nothing here.
struct LinkOptions {
  std::chrono::milliseconds heartbeat_interval{
    2500}; ///< A heartbeat is sent when nothing else was for so long.
  std::chrono::milliseconds silence_limit{
    10000}; ///< on_silence() after so long without a byte from the peer.
  std::size_t piece_bytes =
    64 * 1024; ///< Longer messages are cut into pieces of this size.
  std::size_t window_bytes =
    8 * 1024 * 1024; ///< Credit a stream gets from us: bytes in flight to our handler.
  std::size_t message_limit =
    std::size_t{4} << 30; ///< A peer that announces a longer message is cut off.
};

struct LinkStats {
  std::uint64_t bytes_sent = 0, bytes_received = 0;
  std::uint64_t messages_sent = 0, messages_received = 0;
};

/// What a link tells its owner. Calls for one link never overlap; they come from the
/// reactor's thread (from the sender's thread on a loopback link) and must not block.
class LinkHandler {
public:
  virtual ~LinkHandler() = default;
  /// One whole message.
  virtual void on_message(StreamId stream, Bytes message) = 0;
  /// Nothing came from the peer for silence_limit. Said once a silence; the link stays
  /// open and what arrives later is still delivered.
  virtual void on_silence() = 0;
  /// The link is gone: peer closed, error, or our own close(). Exactly once, and the last
  /// call; everything the peer had sent before was delivered first.
  virtual void on_closed(const std::string& reason) = 0;
};

/// An ordered, framed, two-way connection to one other process.
///
/// Thread safety: any thread may call any member function.
class Link {
public:
  virtual ~Link() = default;
  /// Begins to deliver to `handler`. What arrived before is delivered now. Call once.
  /// Until then nothing is read, the peer's grants included: 64 KiB a stream go out, no
  /// more.
  virtual void start(std::shared_ptr<LinkHandler> handler) = 0;
  /// Sends one message, `head` followed by `body`. Never blocks: what the socket or the
  /// peer's credit does not take now is queued (see backlog()) and goes out later. The
  /// calling thread itself writes to the socket when it can. Returns false if the link is
  /// closed.
  virtual bool send(StreamId stream, Bytes head, Payload body = {}) = 0;
  /// The same for one of many: it may wait for others, to go out together with them,
  /// until somebody waits as a Waiter, for about 2 ms at most.
  virtual bool send_soon(StreamId stream, Bytes head, Payload body = {}) {
    return send(stream, std::move(head), std::move(body));
  }
  /// The same for one of very many small ones that begin alike: `part` is added to the
  /// last message of the stream if that was made of the same `head` in this way and none
  /// of it has gone out, else it follows `head` in a message of its own.
  virtual bool append(StreamId stream, std::span<const std::byte> head,
                      std::span<const std::byte> part) {
    Bytes whole(head.begin(), head.end());
    whole.insert(whole.end(), part.begin(), part.end());
    return send_soon(stream, std::move(whole));
  }
  /// Bytes accepted by send() and not yet taken by the operating system.
  virtual std::size_t backlog() const = 0;
  /// Blocks until the backlog is empty, the link is closed or the time is over. True if
  /// empty.
  virtual bool flush(std::chrono::milliseconds limit) = 0;
  /// Closes at once; unsent data is dropped. on_closed() follows from the reactor's
  /// thread.
  virtual void close() = 0;
  virtual LinkStats stats() const = 0;
};

} // namespace fiber::wire
