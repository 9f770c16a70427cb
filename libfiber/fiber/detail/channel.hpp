// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "fiber/detail/packed_item.hpp"
#include "fiber/detail/results.hpp"
#include "fiber/value.hpp"

// The common part of queues and pipes. Programs use fiber/queue.hpp and fiber/pipe.hpp.

namespace fiber {
struct QueueOptions;
}

namespace fiber::detail {

class ChannelCore;

/// Throws ConfigError if an option can't be used. `place` is the function that has them.
void check(const QueueOptions& options, const char* place);

/// A value for a channel. `type` is what a receiver must ask for; empty in a channel of
/// one type.
template <class T>
PackedItem pack_item(std::string_view type, const T& value) {
  check_value<T>();
  return PackedItem::of([&](Writer& writer) {
    writer.text(type);
    pack(writer, value);
  });
}

/// An item that get() took. It goes back to the channel if this process dies before the
/// destructor runs.
class TakenItem {
public:
  /// `index`: which of the items that answered the request.
  TakenItem(std::shared_ptr<ChannelCore> from, std::uint64_t request, std::uint32_t index,
            Payload bytes, KeptObjects kept)
    : from_(std::move(from)), request_(request), index_(index), bytes_(std::move(bytes)),
      kept_(std::move(kept)) {}
  TakenItem(TakenItem&&) = default;
  TakenItem& operator=(TakenItem&&) = delete;
  TakenItem(const TakenItem&) = delete;
  TakenItem& operator=(const TakenItem&) = delete;
  ~TakenItem();

  template <class T>
  T unpack_as() const {
    Reader reader(bytes_.bytes());
    return unpack<T>(reader);
  }

private:
  std::shared_ptr<ChannelCore> from_; ///< Null when moved from.
  std::uint64_t request_;
  std::uint32_t index_;
  Payload bytes_;
  KeptObjects kept_; ///< Objects that its handles refer to.
};

/// One end of a channel: a handle, valid in any process of the session.
class ChannelEnd {
public:
  using TimePoint = Results::Clock::time_point;

  /// A new queue without a capacity: put() returns when the item is on its way.
  static ChannelEnd queue();
  /// A new queue with a capacity: put() returns when the item is in the queue.
  static ChannelEnd queue(const QueueOptions& options);
  /// A new pipe. The first end receives; both do if duplex.
  static std::pair<ChannelEnd, ChannelEnd> pipe(bool duplex);

  /// These throw Closed at the end of the channel, its home or the session. With a
  /// `limit` they return false, or nothing, if it passed first.
  bool put(PackedItem item, TimePoint limit) const;
  /// Throws Error if the first item has another type.
  std::optional<TakenItem> get(std::string_view type, TimePoint limit) const;
  /// Returns whether get() would return at once.
  bool poll(TimePoint limit) const;
  /// Also throws ItemsLost.
  bool join(TimePoint limit) const;
  void task_done() const;
  std::size_t size() const;
  void close() const;

  bool operator==(const ChannelEnd& other) const;
  void fiber_pack(Writer& writer) const;
  static ChannelEnd fiber_unpack(Reader& reader);

private:
  explicit ChannelEnd(std::shared_ptr<ChannelCore> core) : core_(std::move(core)) {}

  std::shared_ptr<ChannelCore> core_;
};

} // namespace fiber::detail
