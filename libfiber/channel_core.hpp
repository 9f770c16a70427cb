// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "actors/channel_actor.hpp"
#include "fiber/channel.hpp"
#include "libfiber/object_core.hpp"

namespace fiber::detail {

/// One end of a channel.
class ChannelCore final : public ObjectCore {
public:
  ~ChannelCore() override;

  static std::vector<std::shared_ptr<ChannelCore>> open(actors::Channel::Limits limits,
                                                        actors::ChannelEnds ends);
  static std::shared_ptr<ChannelCore> unpack(Reader& reader);
  void pack(Writer& writer) const;

  bool put(PackedItem item, Clock::time_point limit);
  std::optional<TakenItem> get(std::string_view type, Clock::time_point limit);
  void took(std::uint64_t request, std::uint32_t index);
  bool poll(Clock::time_point limit);
  bool join(Clock::time_point limit);
  void task_done();
  std::size_t size();
  void close();

private:
  /// What can be done here.
  struct Use {
    bool puts = true, gets = true;
    bool puts_wait = false; ///< For room.
    std::uint8_t image() const;
    static Use of(std::uint8_t image);
  };

  ChannelCore(const ObjectPlace& place, std::shared_ptr<actors::ObjectHandle> held,
              Use use)
    : ObjectCore(place, std::move(held)), use_(use) {}
  /// The one of this process for that object.
  static std::shared_ptr<ChannelCore>
  of(const ObjectPlace& place, const std::shared_ptr<actors::ObjectHandle>& held,
     Use use);
  void check_gets() const;
  std::optional<TakenItem> take_ahead(std::string_view type);
  /// Leaves the first one of several in the answer.
  void keep_ahead(std::uint64_t request, std::string_view type,
                  actors::ObjectAnswer& answer);
  void give_back(std::uint64_t request);
  /// Tells of a request, and which of its items.
  void tell(std::uint64_t request, actors::AskKind what, std::uint32_t index) const;
  [[noreturn]] static void fail_type(const std::string& is, std::string_view asked);
  [[noreturn]] void fail(const actors::ObjectAnswer& answer) const;
  [[noreturn]] void fail_closed() const override;

  /// Sent with an item that was asked for.
  struct Ahead {
    std::uint64_t request = 0;
    std::uint32_t index = 0;
    Payload bytes;
  };

  const Use use_;
  mutable std::mutex mutex_;
  std::deque<Ahead> ahead_;
  std::string ahead_type_; ///< Of all of them.
};

} // namespace fiber::detail
