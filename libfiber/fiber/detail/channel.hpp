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

namespace fiber::detail {

class ChannelCore;

/// Packs a value for a channel. `type` is the type that a receiver must ask for; empty if
/// all items have the same type.
template <class T>
PackedItem pack_item(std::string_view type, const T& value) {
  check_value<T>();
  return PackedItem::of([&](Writer& writer) {
    writer.text(type);
    pack(writer, value);
  });
}

/// An item taken from a channel. If this process dies before the destructor has run, the
/// item returns to the channel.
class TakenItem {
public:
  /// `index` is the item's place in the answer to the request.
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

  /// With a capacity, put() returns when the item has room; otherwise when it was sent.
  static ChannelEnd queue(std::optional<std::size_t> capacity);
  /// Unless duplex, the first end receives and the second sends.
  static std::pair<ChannelEnd, ChannelEnd> pipe(bool duplex);

  /// These throw Closed once the channel, its home or the session has ended. They return
  /// false or nothing if `limit` passed first.
  bool put(PackedItem item, TimePoint limit) const;
  /// Throws Error if the first item has another type.
  std::optional<TakenItem> get(std::string_view type, TimePoint limit) const;
  bool poll(TimePoint limit) const; ///< Whether get() would not wait.
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
