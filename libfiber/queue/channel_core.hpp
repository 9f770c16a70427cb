// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "actors/queue/channel_actor.hpp"
#include "fiber/detail/channel.hpp"
#include "libfiber/objects/object_core.hpp"

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
              Use use);
  /// The one of this process for that object.
  static std::shared_ptr<ChannelCore>
  of(const ObjectPlace& place, const std::shared_ptr<actors::ObjectHandle>& held,
     Use use);
  void check_gets() const;
  std::optional<TakenItem> take_ahead(std::string_view type);
  /// Leaves the first one of several in the answer.
  void keep_ahead(std::uint64_t request, std::string_view type,
                  actors::ObjectAnswer& answer);
  /// Of an answer with items, on a line of the ledger.
  struct Count {
    std::size_t line = 0;
    std::uint32_t items = 0, taken = 0;
    std::set<std::uint32_t> early = {}; ///< Taken before others in front of them.
  };
  using Counts = std::map<std::uint64_t, Count>;

  /// Counts what is taken of it where the driver can see it, if that is possible.
  void begin_counting(std::uint64_t request, std::size_t items);
  /// Under the lock: tells the result, behind which its line can be used again.
  void stop_counting(Counts::iterator of);
  /// What the home says of its own accord.
  void told(actors::AskKind what, std::uint64_t request, const Payload& body);
  void give_back(std::uint64_t request);
  /// Whether it may be put without an answer; what was lent for it is used then.
  bool use_room(const PackedItem& item);
  void return_room();
  /// Tells of a request, and which of its items.
  void tell(std::uint64_t request, actors::AskKind what, std::uint32_t index,
            actors::Haste haste = actors::Haste::now) const;
  [[noreturn]] static void fail_type(const std::string& is, std::string_view asked);
  [[noreturn]] void fail(const actors::ObjectAnswer& answer) const;
  [[noreturn]] void fail_closed() const override;

  /// How fast items are taken that are at hand: since the last answer.
  struct Pace {
    Clock::time_point answered = {};
    std::size_t items = 0;
    std::thread::id by = {}; ///< Others may work on earlier items meanwhile.
    Clock::duration of_each = Clock::duration::max();

    /// How many are going to be taken in no time.
    std::uint32_t quick() const;
    void asks_again();
  };

  /// Sent with an item that was asked for.
  struct Ahead {
    std::uint64_t request = 0;
    std::uint32_t index = 0;
    Payload bytes;
  };

  const Use use_;
  const std::shared_ptr<actors::JobLedger> ledger_; ///< Null: each step is told.
  mutable std::mutex mutex_;
  std::deque<Ahead> ahead_;
  std::string ahead_type_; ///< Of all of them.
  Pace pace_;
  Counts counts_;
  std::vector<std::size_t> told_lines_; ///< What they say is on its way.
  std::size_t room_ = 0;                ///< Items that may be put unasked.
};

} // namespace fiber::detail
