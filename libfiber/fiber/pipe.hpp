// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <type_traits>
#include <utility>

#include "fiber/detail/channel.hpp"
#include "fiber/detail/type_identity.hpp"
#include "fiber/future.hpp"

namespace fiber {

class Connection;

/// Returns the two ends of a new pipe, as Python's multiprocessing.Pipe. Unless duplex
/// the first one only receives, and the second one only sends. The pipe lives in this
/// process and ends with it. Throws Closed without a session.
std::pair<Connection, Connection> pipe(bool duplex = true);

/// One end of a pipe: a handle that goes anywhere a value does. Values of any types
/// travel, in order. An end that no process holds any more is closed.
///
/// Thread safety: any thread of any process may call any member function.
class Connection {
public:
  /// Sends a value. Returns when it is on its way; blocks while more than 256 MiB wait
  /// for the other end. Throws Error if this end only receives; Closed if it is closed,
  /// or if an earlier send() has found the other end closed; and what packing throws.
  template <class T>
  void send(const T& value) const {
    using V = detail::value_t<const T&>;
    if constexpr (std::is_same_v<V, T>)
      end_.put(detail::pack_item(detail::type_identity<V>(), value),
               detail::Results::forever);
    else
      end_.put(detail::pack_item(detail::type_identity<V>(), V(value)),
               detail::Results::forever);
  }
  /// Blocks until there is a value, and takes it. Throws Closed if the other end is
  /// closed and nothing is left; Error if the next value is no T, which names both types
  /// and leaves the value there.
  template <class T>
  T recv() const {
    return end_.get(detail::type_identity<T>(), detail::Results::forever)
      ->template unpack_as<T>();
  }
  /// The same for at most `d`; nothing if no value came.
  template <class T, class Rep, class Period>
  std::optional<T> recv(std::chrono::duration<Rep, Period> d) const {
    auto item = end_.get(detail::type_identity<T>(), detail::limit_of(d));
    return item ? std::optional<T>(item->template unpack_as<T>()) : std::nullopt;
  }
  /// Blocks for at most `d` until recv() would not block, and returns whether that is so:
  /// there is a value, or recv() would throw Closed.
  template <class Rep, class Period>
  bool poll(std::chrono::duration<Rep, Period> d) const {
    return end_.poll(detail::limit_of(d));
  }
  /// The same without waiting.
  bool poll() const { return poll(std::chrono::seconds(0)); }
  /// Closes this end, for everyone who holds it. What it has sent can still be received.
  void close() const { end_.close(); }

  /// Whether both are handles to the same end.
  bool operator==(const Connection&) const = default;
  /// How the handle travels; called by Fiber, as fiber_unpack() is.
  void fiber_pack(Writer& writer) const { end_.fiber_pack(writer); }
  static Connection fiber_unpack(Reader& reader) {
    return Connection(detail::ChannelEnd::fiber_unpack(reader));
  }

private:
  friend std::pair<Connection, Connection> pipe(bool duplex);
  explicit Connection(detail::ChannelEnd end) : end_(std::move(end)) {}

  detail::ChannelEnd end_;
};

} // namespace fiber
