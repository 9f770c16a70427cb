// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <utility>

#include "fiber/detail/channel.hpp"
#include "fiber/future.hpp"

// First-in-first-out queues between processes. A queue lives in the process that made it,
// its home. A handle to it goes anywhere: bound, as an argument or a result, in
// containers, through other queues. The queue ends with its last handle, or with its
// home.
//
// Thread safety: any thread of any process may call any member function. The items of one
// producer stay in order, and waiting consumers are served in turn. All member functions
// throw Closed when the home or the session has ended; put() throws what packing throws.
//
// When a process dies: an item is its consumer's once get() has returned; if the consumer
// dies before that, the next one gets the item. An item is the queue's once put() has
// returned, even if the producer dies then. What a job puts reaches other processes
// before anything else that it says, and within 2 ms.

namespace fiber {

/// A queue without a capacity, as Python's multiprocessing.SimpleQueue. put() only blocks
/// if more than 256 MiB are waiting, or more than 1 MiB from this process is in flight.
template <class T>
class SimpleQueue {
public:
  /// A new queue whose home is this process. Throws Closed without a session.
  SimpleQueue() : end_(detail::ChannelEnd::queue(std::nullopt)) {}

  /// Adds an item. Returns when it is on its way.
  void put(const T& value) const {
    end_.put(detail::pack_item("", value), detail::Results::forever);
  }
  /// Blocks until there is an item, and takes it.
  T get() const {
    return end_.get("", detail::Results::forever)->template unpack_as<T>();
  }
  /// The same for at most `d`; nothing if none came.
  template <class Rep, class Period>
  std::optional<T> get(std::chrono::duration<Rep, Period> d) const {
    auto item = end_.get("", detail::limit_of(d));
    return item ? std::optional<T>(item->template unpack_as<T>()) : std::nullopt;
  }
  /// Whether the queue is empty now.
  bool empty() const { return end_.size() == 0; }

  /// Whether both are handles to the same queue.
  bool operator==(const SimpleQueue&) const = default;
  /// How the handle travels; called by Fiber, as fiber_unpack() is.
  void fiber_pack(Writer& writer) const { end_.fiber_pack(writer); }
  static SimpleQueue fiber_unpack(Reader& reader) {
    return SimpleQueue(detail::ChannelEnd::fiber_unpack(reader));
  }

private:
  explicit SimpleQueue(detail::ChannelEnd end) : end_(std::move(end)) {}

  detail::ChannelEnd end_;
};

/// A queue with a capacity, as Python's multiprocessing.JoinableQueue: back-pressure for
/// producers, and join() for those who wait until all is done.
template <class T>
class Queue {
public:
  /// A new queue for at most `capacity` items, whose home is this process. Throws
  /// ConfigError if `capacity` is 0, Closed without a session.
  explicit Queue(std::size_t capacity) : end_(detail::ChannelEnd::queue(capacity)) {}

  /// Adds an item. Blocks until there is room and the item is in the queue. Throws Closed
  /// after close().
  void put(const T& value) const {
    end_.put(detail::pack_item("", value), detail::Results::forever);
  }
  /// The same for at most `d`; false if there was no room: then the item is not in the
  /// queue.
  template <class Rep, class Period>
  bool put(const T& value, std::chrono::duration<Rep, Period> d) const {
    return end_.put(detail::pack_item("", value), detail::limit_of(d));
  }
  /// Blocks until there is an item, and takes it. Throws Closed when the queue is closed
  /// and empty.
  T get() const {
    return end_.get("", detail::Results::forever)->template unpack_as<T>();
  }
  /// The same for at most `d`; nothing if none came.
  template <class Rep, class Period>
  std::optional<T> get(std::chrono::duration<Rep, Period> d) const {
    auto item = end_.get("", detail::limit_of(d));
    return item ? std::optional<T>(item->template unpack_as<T>()) : std::nullopt;
  }
  /// How many items are in the queue now.
  std::size_t size() const { return end_.size(); }
  /// Ends the input: put() throws Closed, also where it waits. Items that are in the
  /// queue can still be taken.
  void close() const { end_.close(); }

  /// Says that the work for one item is done. Throws Error if it has been called for
  /// every item already.
  void task_done() const { end_.task_done(); }
  /// Blocks until task_done() has been called once for each item that was put.
  void join() const { end_.join(detail::Results::forever); }
  /// The same for at most `d`; returns whether it is so.
  template <class Rep, class Period>
  bool join(std::chrono::duration<Rep, Period> d) const {
    return end_.join(detail::limit_of(d));
  }

  /// Whether both are handles to the same queue.
  bool operator==(const Queue&) const = default;
  /// How the handle travels; called by Fiber, as fiber_unpack() is.
  void fiber_pack(Writer& writer) const { end_.fiber_pack(writer); }
  static Queue fiber_unpack(Reader& reader) {
    return Queue(detail::ChannelEnd::fiber_unpack(reader));
  }

private:
  explicit Queue(detail::ChannelEnd end) : end_(std::move(end)) {}

  detail::ChannelEnd end_;
};

} // namespace fiber
