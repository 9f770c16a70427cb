// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <utility>

#include "fiber/detail/channel.hpp"
#include "fiber/future.hpp"

// First-in-first-out queues between processes. A queue lives in the process that made it,
// its home; a handle goes anywhere: bound, as an argument or a result, in containers,
// through other queues. The queue ends with its last handle, or with its home.
//
// Any number of threads of any processes may put and get. The items of one producer stay
// in order, and consumers that wait are served in turn. An item is its consumer's from
// the return of get() on: if the process of one dies before that, the next one gets the
// item. From the return of put() on it is the queue's, even if its process dies then;
// what a job puts is seen by others before anything else that it says, and in 2 ms.
//
// All throw Closed when nothing can come any more: the home has ended, or the session.

namespace fiber {

/// A queue as Python's multiprocessing.SimpleQueue, which takes what comes: put() only
/// waits if more than 256 MiB are waiting, or more than 1 MiB is on its way from this
/// process.
template <class T>
class SimpleQueue {
public:
  /// A new queue whose home is this process. Throws Closed without a session.
  SimpleQueue() : end_(detail::ChannelEnd::queue(std::nullopt)) {}

  void put(const T& value) const {
    end_.put(detail::pack_item("", value), detail::Results::forever);
  }
  /// Waits for an item.
  T get() const {
    return end_.get("", detail::Results::forever)->template unpack_as<T>();
  }
  /// Nothing if none comes within `d`.
  template <class Rep, class Period>
  std::optional<T> get(std::chrono::duration<Rep, Period> d) const {
    auto item = end_.get("", detail::limit_of(d));
    return item ? std::optional<T>(item->template unpack_as<T>()) : std::nullopt;
  }
  /// Whether no item is there now.
  bool empty() const { return end_.size() == 0; }

  /// Whether both stand for the same queue.
  bool operator==(const SimpleQueue&) const = default;
  void fiber_pack(Writer& writer) const { end_.fiber_pack(writer); }
  static SimpleQueue fiber_unpack(Reader& reader) {
    return SimpleQueue(detail::ChannelEnd::fiber_unpack(reader));
  }

private:
  explicit SimpleQueue(detail::ChannelEnd end) : end_(std::move(end)) {}

  detail::ChannelEnd end_;
};

/// A queue as Python's multiprocessing.JoinableQueue, with room for so many items.
template <class T>
class Queue {
public:
  /// A new queue whose home is this process. Throws ConfigError if `capacity` is 0,
  /// Closed without a session.
  explicit Queue(std::size_t capacity) : end_(detail::ChannelEnd::queue(capacity)) {}

  /// Returns when the item stands in the queue. Throws Closed after close().
  void put(const T& value) const {
    end_.put(detail::pack_item("", value), detail::Results::forever);
  }
  /// False if there is no room within `d`; then the item is not in the queue.
  template <class Rep, class Period>
  bool put(const T& value, std::chrono::duration<Rep, Period> d) const {
    return end_.put(detail::pack_item("", value), detail::limit_of(d));
  }
  /// Waits for an item. Throws Closed when the queue is closed and empty.
  T get() const {
    return end_.get("", detail::Results::forever)->template unpack_as<T>();
  }
  /// Nothing if none comes within `d`. Throws Closed likewise.
  template <class Rep, class Period>
  std::optional<T> get(std::chrono::duration<Rep, Period> d) const {
    auto item = end_.get("", detail::limit_of(d));
    return item ? std::optional<T>(item->template unpack_as<T>()) : std::nullopt;
  }
  /// How many items are there now.
  std::size_t size() const { return end_.size(); }
  /// No more items: puts throw Closed, those that wait included. What is there can still
  /// be got.
  void close() const { end_.close(); }

  /// Says that the work that one item asked for is done. Throws Error if it was said of
  /// every item before.
  void task_done() const { end_.task_done(); }
  /// Waits until task_done() was called as often as items were put.
  void join() const { end_.join(detail::Results::forever); }
  /// The same for at most `d`; true if so.
  template <class Rep, class Period>
  bool join(std::chrono::duration<Rep, Period> d) const {
    return end_.join(detail::limit_of(d));
  }

  /// Whether both stand for the same queue.
  bool operator==(const Queue&) const = default;
  void fiber_pack(Writer& writer) const { end_.fiber_pack(writer); }
  static Queue fiber_unpack(Reader& reader) {
    return Queue(detail::ChannelEnd::fiber_unpack(reader));
  }

private:
  explicit Queue(detail::ChannelEnd end) : end_(std::move(end)) {}

  detail::ChannelEnd end_;
};

} // namespace fiber
