// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "actors/channel_actor.hpp"
#include "fiber/channel.hpp"
#include "libfiber/object_core.hpp"

namespace fiber::detail {

/// One end of a channel.
class ChannelCore final : public ObjectCore {
public:
  static std::vector<std::shared_ptr<ChannelCore>> open(actors::Channel::Limits limits,
                                                        actors::ChannelEnds ends);
  static std::shared_ptr<ChannelCore> unpack(Reader& reader);
  void pack(Writer& writer) const;

  bool put(PackedItem item, Clock::time_point limit);
  std::optional<TakenItem> get(std::string_view type, Clock::time_point limit);
  void took(std::uint64_t request);
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
  [[noreturn]] void fail(const actors::ObjectAnswer& answer) const;
  [[noreturn]] void fail_closed() const override;

  const Use use_;
};

} // namespace fiber::detail
