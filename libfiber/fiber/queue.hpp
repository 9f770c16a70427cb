// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fiber/detail/channel.hpp"
#include "fiber/error.hpp"
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
// When a process dies: an item is taken once get() has returned or thrown; if the
// consumer dies before that, even while the item is unpacked, the next consumer gets the
// item. What happens to an item that its consumer has taken and not finished: see Queue.
// An item is in the queue once put() has returned, even if the producer dies then. What a
// job puts reaches other processes before anything else that it says, and within 2 ms.

namespace fiber {

/// A queue without a capacity, as Python's multiprocessing.SimpleQueue. put() only blocks
/// if more than 256 MiB are waiting, or more than 1 MiB from this process is in flight.
template <class T>
class SimpleQueue {
public:
  /// A new queue whose home is this process. Throws Closed without a session.
  SimpleQueue() : end_(detail::ChannelEnd::queue()) {}

  /// Adds an item. Returns when it is on its way.
  void put(const T& value) const {
    end_.put(detail::pack_item("", value), detail::Results::forever);
  }
  /// Blocks until there is an item, and takes it. Throws what unpacking throws; the item
  /// is taken then.
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

/// The options of a Queue.
struct QueueOptions {
  /// How many items may wait in the queue, 1 or more. Redelivered items may come on top.
  std::size_t capacity = 0;
  /// Whether an item goes to the next consumer, before all later items, if its consumer
  /// ends between get() and task_done(). Each consumer must then call task_done() for
  /// each item, before its next get(): until then the queue's home keeps the item in
  /// memory.
  bool redeliver = false;
  /// How often each item is redelivered before it counts as lost; -1: no limit. A return
  /// of an item that no get() had taken does not count. Without `redeliver` this option
  /// has no effect.
  int max_redeliveries = 3;
};

/// Thrown by Queue::join(): not all items will be finished, because consumers have ended
/// between get() and task_done(). Without QueueOptions::redeliver their items are lost;
/// with it, these items were redelivered max_redeliveries times, and each consumer has
/// ended.
///
/// Without `redeliver` the queue only counts items. So items() and jobs() are exact only
/// if each process calls task_done() for the items that it took itself.
class ItemsLost : public Error {
public:
  /// For Fiber's use.
  ItemsLost(const std::string& text, std::size_t items, std::vector<std::string> jobs)
    : Error(text), items_(items), jobs_(std::move(jobs)) {}
  /// How many items were lost since join() last threw this in this process.
  std::size_t items() const { return items_; }
  /// The jobs of the last consumers of these items, the latest last, at most 8.
  const std::vector<std::string>& jobs() const { return jobs_; }

private:
  std::size_t items_;
  std::vector<std::string> jobs_;
};

/// A queue with a capacity, as Python's multiprocessing.JoinableQueue: back-pressure for
/// producers, and join() for those who wait until all is done.
///
/// An item is unfinished from put() to task_done(). If the process that took the item
/// ends before task_done(), whether it is killed or returns, QueueOptions decide:
///
/// - without `redeliver` the item is lost: join() does not wait for the item, and throws
///   ItemsLost;
/// - with `redeliver` the item returns to its old place: the next get() takes it, before
///   all items that were put later. Several items of one consumer keep their order. After
///   max_redeliveries the item is lost.
///
/// So with `redeliver` an item may be worked on more than once, but it is finished at
/// least once, or join() reports it. Redelivered items may come on top of the capacity.
///
/// Call task_done() for an item before the next get(). Otherwise two consumers of a
/// closed queue may wait for each other for ever: each waits in get(), because the
/// unfinished items of the other one may come back. Items that the driver or the queue's
/// home has taken never come back, since the queue ends with either, and no get() waits
/// for them.
///
/// An item whose unpacking kills the consumer was not taken: it returns to the queue,
/// with or without `redeliver`, and this does not count against max_redeliveries. If
/// unpacking throws, get() throws the same. The item is taken then, and needs
/// task_done().
///
/// A consumer that still runs, but is cut off for so long that it counts as dead
/// (Config::heartbeat_timeout), loses its items to the next consumers. It does not return
/// from task_done(), which has no effect: it ends when its lease is over. A cut of a
/// direct link between two jobs has no effect, since their messages then go through the
/// driver.
template <class T>
class Queue {
public:
  /// A new queue for at most `capacity` items, whose home is this process. Throws
  /// ConfigError if `capacity` is 0, Closed without a session.
  explicit Queue(std::size_t capacity) : Queue(QueueOptions{.capacity = capacity}) {}
  /// The same with options: Queue<int>({.capacity = 100, .redeliver = true}). Throws
  /// ConfigError if an option can't be used.
  explicit Queue(const QueueOptions& options)
    : end_(detail::ChannelEnd::queue(options)) {}

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
  /// and empty; with `redeliver` only when no other process has unfinished items that may
  /// come back: see above. Throws what unpacking throws; the item is taken then, and
  /// needs task_done().
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
  /// Ends the input: put() throws Closed, even a put() that waits. Items that are in the
  /// queue can still be taken.
  void close() const { end_.close(); }

  /// Acknowledges that the work for one item is done; returns when the queue's home
  /// knows. In a process that counts as dead it does not return.
  ///
  /// With `redeliver` this is the oldest unfinished item that this thread has taken; if
  /// there is none, the oldest that this process has taken. Throws Error if there is none
  /// either. Without `redeliver` only the number of items counts, so a process may also
  /// acknowledge what another process has taken and passed on; but see ItemsLost. Throws
  /// Error if task_done() has been called for every item already. A call for an item that
  /// counts as lost, or that was redelivered, has no effect.
  void task_done() const { end_.task_done(); }
  /// Blocks until task_done() has been called once for each item that was put. Does not
  /// wait for lost items: throws ItemsLost as soon as there is one, once in each process
  /// that calls join(). The next call in that process waits for the items that are left,
  /// or throws for those that were lost since then.
  void join() const { end_.join(detail::Results::forever); }
  /// The same for at most `d`; returns whether all items are done.
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
