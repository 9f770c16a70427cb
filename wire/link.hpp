// SPDX-License-Identifier: Apache-2.0
// wire/ moves messages between two processes: frames, credit for each stream, heartbeats,
// TLS, and the reactor that does the work. It does not know the messages' contents.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "fiber/bytes.hpp"

namespace fiber::wire {

/// Names a stream of a link. Messages of one stream arrive in order; streams do not wait
/// for each other.
using StreamId = std::uint32_t;

/// Options of one end of a link. The two ends need not agree.
struct LinkOptions {
  /// A heartbeat is sent after this time without another message.
  std::chrono::milliseconds heartbeat_interval{2500};
  /// on_silence() is called after this time without a byte from the peer.
  std::chrono::milliseconds silence_limit{10000};
  std::size_t piece_bytes = 64 * 1024; ///< Longer messages are sent in pieces.
  /// Credit that this end grants a stream: bytes in flight to our handler.
  std::size_t window_bytes = 8 * 1024 * 1024;
  /// A peer that announces a longer message is disconnected.
  std::size_t message_limit = std::size_t{4} << 30;
  /// While the handler has more bytes waiting than this, nothing is read.
  std::size_t waiting_limit = 8 * 1024 * 1024;
};

struct LinkStats {
  std::uint64_t bytes_sent = 0, bytes_received = 0;
  std::uint64_t messages_sent = 0, messages_received = 0;
  /// Time since the last look at which bytes had come; the link looks several times per
  /// heartbeat. 0 for a loopback link.
  std::chrono::milliseconds silent{0};
};

/// Why a link has ended.
struct LinkEnd {
  std::string reason; ///< For people.
  /// The peer sent bytes that break the protocol. False: it closed the link, or was lost.
  bool broken_protocol = false;
};

/// Callbacks of a link. Calls for one link never overlap. They run on the reactor's
/// thread (on the sender's thread of a loopback link) and must not block.
class LinkHandler {
public:
  virtual ~LinkHandler() = default;
  /// Delivers a whole message.
  virtual void on_message(StreamId stream, Bytes message) = 0;
  /// Returns how many bytes of delivered messages have not been used yet. The link asks
  /// before each read, so that a peer that sends faster than its messages are used has to
  /// wait.
  virtual std::size_t waiting() const { return 0; }
  /// Called once per silence, after silence_limit without a byte from the peer. The link
  /// stays open and still delivers what arrives later.
  virtual void on_silence() = 0;
  /// Called exactly once, as the last call, when the link has ended: the peer closed it,
  /// an error, or our own close(). All that the peer had sent before was delivered.
  virtual void on_closed(const LinkEnd& end) = 0;
};

/// An ordered, framed, two-way connection to one other process.
///
/// Thread safety: any thread may call any member function.
class Link {
public:
  virtual ~Link() = default;
  /// Starts delivery to `handler`, including earlier messages. Call it once. Until then
  /// nothing is read, not even the peer's grants, so that only 64 KiB per stream can be
  /// sent.
  virtual void start(std::shared_ptr<LinkHandler> handler) = 0;
  /// Sends one message, `head` followed by `body`. Never blocks: bytes that the socket or
  /// the peer's credit does not admit are queued (see backlog()). The calling thread
  /// itself writes to the socket when it can. Returns false if the link is closed.
  virtual bool send(StreamId stream, Bytes head, Payload body = {}) = 0;
  /// Sends one of many messages: it may be held back for batching, until a thread waits
  /// as a Waiter, for about 2 ms at most.
  virtual bool send_soon(StreamId stream, Bytes head, Payload body = {}) {
    return send(stream, std::move(head), std::move(body));
  }
  /// Sends one of very many small messages that begin alike. Adds `part` to the stream's
  /// last message if append() made that with the same `head` and no byte of it was sent;
  /// otherwise sends `head` and `part` as a message of their own.
  virtual bool append(StreamId stream, std::span<const std::byte> head,
                      std::span<const std::byte> part) {
    Bytes whole(head.begin(), head.end());
    whole.insert(whole.end(), part.begin(), part.end());
    return send_soon(stream, std::move(whole));
  }
  /// Returns the bytes accepted by send() and not yet taken by the operating system.
  virtual std::size_t backlog() const = 0;
  /// Blocks until the kernel has sent all that was accepted before, the link is closed or
  /// the limit has passed. Returns whether all was sent: then it reaches the peer even if
  /// this process is killed.
  virtual bool flush(std::chrono::milliseconds limit) = 0;
  /// The same without a limit: returns false only if the link is cut or closed.
  bool flush() { return flush(std::chrono::years(1)); }
  /// Closes at once and drops unsent data. on_closed() follows on the reactor's thread.
  virtual void close() = 0;
  virtual LinkStats stats() const = 0;
};

} // namespace fiber::wire
