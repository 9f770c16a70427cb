// SPDX-License-Identifier: Apache-2.0
// queue/ implements Queue, SimpleQueue and pipes as ends of channels
// (actors/queue/channel.hpp).
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

/// One end of a channel, shared by its handles in this process. A job prefetches items
/// when it gets fast, and may be lent room in order to put without waiting.
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
  /// What this end may do.
  struct Rights {
    bool puts = true, gets = true;
    bool puts_wait = false;  ///< put() waits for room.
    bool redelivers = false; ///< task_done() tells which item is finished.
    std::uint8_t to_byte() const;
    static Rights from_byte(std::uint8_t byte);
  };

  ChannelCore(const ObjectPlace& place, std::shared_ptr<actors::ObjectHandle> held,
              Rights rights);
  /// Returns this process's ChannelCore of the object, which all handles share.
  static std::shared_ptr<ChannelCore>
  of(const ObjectPlace& place, const std::shared_ptr<actors::ObjectHandle>& held,
     Rights rights);
  void check_gets() const;
  std::optional<TakenItem> take_prefetched(std::string_view type);
  /// Stores prefetched items and leaves the first one in the answer.
  void keep_prefetched(std::uint64_t request, std::string_view type,
                       actors::ObjectAnswer& answer);
  /// Progress through the items of one answer, recorded on a line of the job's ledger,
  /// which the driver can read even after the job has died.
  struct Count {
    std::size_t line = 0;
    std::uint32_t items = 0, taken = 0;
    std::set<std::uint32_t> early = {}; ///< Indices taken out of order.
  };
  using Counts = std::map<std::uint64_t, Count>;

  /// Opens a ledger line for an answer's items, if this end has a ledger with a free
  /// line.
  void begin_counting(std::uint64_t request, std::size_t items);
  /// Reports the final count to the home. Its line may be reused once the home has read
  /// that. REQUIRES: mutex_ is held.
  void stop_counting(Counts::iterator of);
  /// Handles a message from the home that answers no request.
  void on_notice(actors::AskKind what, std::uint64_t request, const Payload& body);
  void give_back(std::uint64_t request);
  /// Returns whether `item` may be put without an answer, and takes the room for it.
  bool take_lent_room(const PackedItem& item);
  void return_lent_room();
  /// Sends a notice about an item of a request.
  void tell(std::uint64_t request, actors::AskKind what, std::uint32_t index,
            actors::Haste haste = actors::Haste::now) const;
  [[noreturn]] static void fail_type(const std::string& is, std::string_view asked);
  [[noreturn]] void fail(const actors::ObjectAnswer& answer) const;
  [[noreturn]] static void fail_lost(Reader& reader);
  [[noreturn]] void fail_closed() const override;

  /// How fast this end takes items: the time per item between two answers.
  struct Pace {
    Clock::time_point answered = {};
    std::size_t items = 0;
    std::thread::id thread = {}; ///< Only one thread's gets are comparable.
    Clock::duration per_item = Clock::duration::max();

    /// Returns how many items this end takes within 200 us, or 0 if it is slow.
    std::uint32_t prefetch_limit() const;
    void measure();
  };

  /// An item of a queue that redelivers: a thread has taken it, and task_done() was not
  /// called for it.
  struct Unfinished {
    std::thread::id thread;
    std::uint64_t request = 0;
    std::uint32_t index = 0;
  };
  /// Removes and returns the oldest item of this thread; if the thread has none, the
  /// oldest of this process.
  std::optional<Unfinished> pop_unfinished();

  /// A prefetched item.
  struct Prefetched {
    std::uint64_t request = 0;
    std::uint32_t index = 0;
    Payload bytes;
  };

  const Rights rights_;
  /// Null: a message reports each item taken.
  const std::shared_ptr<actors::JobLedger> ledger_;
  mutable std::mutex mutex_;
  std::deque<Prefetched> prefetched_;
  std::string prefetched_type_; ///< Their common type.
  Pace pace_;
  Counts counts_;
  std::deque<Unfinished> unfinished_;       ///< In the order in which they were taken.
  std::vector<std::size_t> reported_lines_; ///< Lines whose final count is in flight.
  std::size_t lent_room_ = 0;               ///< Items that may be put without an answer.
};

} // namespace fiber::detail
