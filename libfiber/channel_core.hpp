// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

#include "actors/channel_actor.hpp"
#include "actors/object_space.hpp"
#include "fiber/channel.hpp"
#include "libfiber/wait_point.hpp"

namespace fiber::detail {

class Runtime;

/// One end of a channel as the handles of this process share it, and the way to ask it.
class ChannelCore : public std::enable_shared_from_this<ChannelCore> {
public:
  using Clock = Results::Clock;

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
  HeldId id() const { return held_->held_id(); }

private:
  /// What of this process it needs: of the session's driver, or of the job.
  struct Place {
    std::shared_ptr<Runtime> runtime; ///< Null in a job.
    std::shared_ptr<actors::ObjectSpace> objects;
    std::uint64_t session = 0;

    /// How many tasks an inline session has run for who waits here.
    std::shared_ptr<std::atomic<std::uint64_t>> ran =
      std::make_shared<std::atomic<std::uint64_t>>(0);

    static Place here(); ///< Throws Closed.
    std::unique_ptr<WaitPoint> wait_point() const;
    /// As the point's own. Throws Error if an inline session could never fulfil it.
    bool wait(WaitPoint& point, const std::function<bool()>& fulfilled,
              Clock::time_point limit) const;
    void check_open() const;
  };
  struct Asked {
    std::uint64_t request = 0;
    actors::ObjectAnswer answer;
  };

  /// What can be done here.
  struct Use {
    bool puts = true, gets = true;
    bool puts_wait = false; ///< For room.
    std::uint8_t image() const;
    static Use of(std::uint8_t image);
  };

  ChannelCore(Place place, std::shared_ptr<actors::ObjectHandle> held, Use use);
  /// The one of this process for that object.
  static std::shared_ptr<ChannelCore>
  of(const Place& place, const std::shared_ptr<actors::ObjectHandle>& held, Use use);
  void check_may_wait() const;
  void check_gets() const;
  /// Nothing if the limit passed, and then nothing has been done.
  std::optional<Asked> ask(actors::ChannelAsk what, PackedItem body,
                           Clock::time_point limit);
  bool send(PackedItem item, Clock::time_point limit);
  [[noreturn]] void fail(const actors::ObjectAnswer& answer) const;

  const Place place_;
  const std::shared_ptr<actors::ObjectHandle> held_;
  const Use use_;
  const std::unique_ptr<WaitPoint> window_;
  // Under its lock: what was sent and is not yet where it belongs.
  std::size_t in_flight_ = 0;
  bool closed_ = false;
};

} // namespace fiber::detail
