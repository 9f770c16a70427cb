// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "actors/protocol/object_protocol.hpp"
#include "actors/queue/item.hpp"
#include "actors/queue/taken_items.hpp"

namespace fiber::actors {

/// Prefetch: how many more items may come with the one that is asked for.
struct Prefetch {
  std::size_t sole = 0;  ///< Limit for a sole consumer.
  std::size_t quick = 0; ///< Limit with several consumers: what this one takes at once.
};

/// A first-in-first-out channel: its items, the consumers that wait for items and the
/// producers that wait for room. It sends nothing by itself: every member function
/// returns the replies to send.
///
/// Handing out: an item belongs to its consumer once the consumer acknowledges it by
/// took() or has recorded it in its ledger. If the consumer is gone before that, the item
/// returns to its old place.
///
/// Prefetch: a consumer that is alone for a while gets further items with the one that it
/// asked for. When another one asks, they are recalled, and the consumer gives back what
/// it has not taken. Until then nobody gets an item, so that every consumer sees the
/// items of one producer in order. With several consumers each gets, in turn, as many
/// items as it says it takes at once (a quick prefetch); they are recalled only if it
/// takes longer.
///
/// Taken and not finished: an item that a consumer has taken is unfinished until
/// task_done(). If the consumer is gone before that, the item is lost, and join() says
/// so. With redelivery the channel keeps the item, and puts it back at its old place, in
/// front of all that nobody has taken; an item that was redelivered as often as the limit
/// allows is lost.
///
/// Lent room: a producer that puts often may put a number of items without asking. When
/// another one waits for room, the lent room is reclaimed, and the producer reports what
/// it has not used.
class Channel {
public:
  struct Limits {
    std::size_t items = SIZE_MAX;
    std::size_t bytes = std::size_t{256} << 20; ///< An empty channel takes any item.
    /// Whether a put returns only when there is room for its item, so that a waiting put
    /// can be refused.
    bool puts_wait = false;
    /// A consumer gets prefetched items after more gets in a row than this; each recall
    /// doubles it. A producer is lent room after more puts than this.
    std::size_t streak = 4;
    /// Whether an item goes to the next consumer if its consumer is gone before
    /// task_done().
    bool redeliver = false;
    int max_redeliveries = 3; ///< Of each item; -1: no limit.
  };
  struct Reply {
    Asker to;
    Answer what = Answer::done;
    Item item = {}; ///< For Answer::value; only its type for other_type.
    std::vector<Item> prefetched = {}; ///< Prefetched items that follow it.
    /// For Answer::room: items if room was lent, else the bytes of items that found room.
    std::size_t room = 0;
    std::shared_ptr<LostItems> lost = nullptr; ///< For Answer::lost.
  };
  using Replies = std::vector<Reply>;
  /// Returns how many items of an answer its consumer has recorded as taken; 0 if
  /// unknown.
  using Taken = std::function<std::uint32_t(const Asker&)>;

  /// `home`: the process of the channel, which ends with it.
  explicit Channel(Limits limits, Taken taken = nullptr, std::uint64_t home = 0)
    : limits_(limits), recorded_(std::move(taken)), home_(home) {}

  /// Answered when there is room for the item. `may_lend`: the producer may be lent room.
  Replies put(Asker who, Item item, bool may_lend = false);
  /// Puts items that no request waits for. If Limits::puts_wait, they use lent room. If
  /// not, any number may come, and Answer::room reports their cost once there is room.
  Replies put_all(std::uint64_t process, std::vector<Item> items);
  /// The producer returns so much of its lent room.
  Replies unused(std::uint64_t process, std::size_t items);
  /// Answered with the first item, which must be of this type; empty: of any type.
  Replies get(Asker who, std::string type, Prefetch prefetch = {});
  /// Answered when there is an item to get.
  Replies poll(Asker who);
  /// Answered `done` when task_done() was called for every item that is not lost.
  /// Answered `lost` if items were lost since the process was last told of such.
  Replies join(Asker who);
  struct TaskDone {
    enum class What : std::uint8_t {
      done,
      late,     ///< Without effect: the item was given to another consumer, or is lost.
      too_often ///< Without effect: there is no such item.
    };
    What what = What::done;
    Replies replies = {};
  };
  /// The process has finished an item: the one with this key, else the oldest one that it
  /// has taken. Without redelivery only the number of items counts, so a process may also
  /// finish what another one has taken.
  TaskDone task_done(std::uint64_t process, const std::optional<TakenKey>& key = {});
  /// Returns how many items can be got.
  std::size_t size();
  /// Returns how many producers wait for room.
  std::size_t waiting_puts() const { return puts_.size(); }
  /// Returns how many consumers wait for an item.
  std::size_t waiting_gets() const { return gets_.size(); }
  /// Returns how many items were put so far.
  std::uint64_t puts_so_far() const { return next_place_; }
  /// The living processes that have put an item, and those that have asked for one.
  const std::set<std::uint64_t>& producers() const { return producers_; }
  const std::set<std::uint64_t>& consumers() const { return consumers_; }
  /// Answers a waiting request with `cancelled`. Does nothing if it was answered.
  Replies cancel(Asker who);
  /// The consumer has taken the item at `index` of an answer: 0 is the one that it asked
  /// for, the prefetched ones follow.
  Replies took(Asker who, std::size_t index = 0);
  /// The consumer has taken the first `count` items of an answer.
  Replies took_first(Asker who, std::size_t count);
  /// The consumer gives back the prefetched items from `first` on that it has not taken.
  Replies give_back(Asker who, std::size_t first);
  /// Refuses further puts; the items that are there can still be got.
  Replies close();
  /// Drops all items: there is no consumer any more.
  Replies drop();
  /// Forgets the process. Items that it was handed and had not taken return to the
  /// channel; `taken` tells what it had recorded at its end. Items that it had taken and
  /// not finished are redelivered or lost. `job` is its name, if known.
  Replies gone(std::uint64_t process, const Taken& taken = nullptr,
               const std::string& job = {});

  /// Whether a put waits while room is lent or occupied by prefetched items.
  bool is_short() const { return !puts_.empty() && (prefetched_ > 0 || lent_total_ > 0); }
  /// Whether a consumer waits while another one has not used up a quick prefetch.
  bool waits_for_quick() const {
    return !quick_.empty() && !(gets_.empty() && polls_.empty());
  }
  /// To be called while is_short() or waits_for_quick() holds. Recalls quick prefetches
  /// that were there at the previous call. If the channel is short, reclaims lent room
  /// and sets `to_tell` to the answers with prefetched items, whose consumers should
  /// report when they take the next one.
  Replies relieve_shortage(std::vector<Asker>& to_tell);

private:
  using Stored = StoredItem;
  struct WaitingPut {
    Asker who;
    Stored stored;
    bool cancelled = false; ///< To be answered `cancelled` when no room is lent.
  };
  struct WaitingGet {
    Asker who;
    std::string type;
    Prefetch prefetch = {};
    bool cancelled = false; ///< To be answered `cancelled` when nothing is prefetched.
  };
  /// The items of one answer, until all of them are taken or given back.
  struct HandedOut {
    std::vector<Stored> items;
    std::vector<bool> taken;
    std::size_t first = 0; ///< Index of the first item that is not taken.
    std::size_t left = 0;  ///< How many items are not taken.
    bool sole = false;     ///< Whether the consumer was the only one.
    std::uint64_t request = 0;
    TakenItems::Consumer* consumer = nullptr; ///< Never null.
  };
  using Outstanding = std::map<Asker, HandedOut>;
  /// The room that is lent to a producer.
  struct Lent {
    std::size_t puts = 0;  ///< Its puts since it last returned room.
    std::size_t items = 0; ///< Items that it may still put without asking.
    bool reclaimed = false;
  };

  bool has_room(const Item& item) const;
  bool empty() const {
    return items_.empty() && puts_.empty() && outstanding_.empty() && lent_total_ == 0;
  }
  void store(Stored stored);
  /// Answers every waiting request that can be answered now.
  void serve_waiting(Replies& replies);
  void take_puts(Replies& replies);
  void lend(std::uint64_t process, Replies& replies);
  void reclaim(Replies& replies);
  void hand_out(const WaitingGet& get, Replies& replies);
  void forget_prefetch(const Asker& who);
  void recall(Replies& replies);
  void take(HandedOut& handed, std::size_t index);
  void take_first(HandedOut& handed, std::size_t count);
  /// Takes over what consumers have recorded as taken.
  void apply_recorded();
  /// The same for one consumer.
  void apply_recorded(std::uint64_t process);
  /// Returns the request's answer if its item at this index is not taken, else null.
  HandedOut* untaken(std::uint64_t process, const TakenKey& key);
  TaskDone::What finish(std::uint64_t process, const std::optional<TakenKey>& key);
  /// Redelivers what the process had taken and not finished, or counts it as lost.
  void release_taken(std::uint64_t process, const std::string& job);
  /// Returns how many items nobody has taken, those of waiting puts included.
  std::uint64_t count_untaken() const;
  /// Forgets so many items that were not put after all. An item may count as finished
  /// already, since anyone may call task_done().
  void refused(std::size_t puts) {
    unfinished_ -= std::min<std::uint64_t>(unfinished_, puts);
  }
  void answer_joins(Replies& replies);
  void end_gets(Replies& replies);
  /// Returns the untaken items from `first` on to their places.
  void put_back(HandedOut& handed, std::size_t first);
  Outstanding::iterator forget_if_taken(Outstanding::iterator at);
  void note_producer(std::uint64_t process) {
    if (std::exchange(last_putter_, process) != process)
      producers_.insert(process);
  }

  Limits limits_;
  Taken recorded_;
  std::uint64_t home_;
  std::uint64_t next_place_ = 0;
  std::deque<Stored> items_; ///< By place.
  std::size_t bytes_ = 0;    ///< Cost of items_.
  std::deque<WaitingPut> puts_;
  std::deque<WaitingGet> gets_;
  std::vector<Asker> polls_, joins_;
  Outstanding outstanding_;    ///< Answers whose items are not all taken.
  std::size_t prefetched_ = 0; ///< Prefetched items in outstanding_ that are not taken.
  std::set<Asker> prefetched_at_; ///< Answers that may have such items.
  std::set<Asker> recalled_;      ///< Answers whose prefetched items were recalled.
  std::set<Asker> quick_;         ///< Answers in prefetched_at_ with a quick prefetch.
  std::set<Asker> slow_;          ///< quick_ as it was at the last relieve_shortage().
  std::map<std::uint64_t, Lent> lent_; ///< By producer.
  std::size_t lent_total_ = 0;         ///< Items of lent_ together.
  std::set<std::uint64_t> producers_, consumers_;
  std::optional<std::uint64_t> last_putter_;
  std::uint64_t last_getter_ = 0; ///< The process of the last get().
  std::size_t gets_in_a_row_ = 0; ///< Its gets in a row.
  std::uint64_t unfinished_ = 0;  ///< Items without a task_done() that are not lost.
  TakenItems taken_;
  LostRecord lost_;
  std::uint64_t late_ = 0; ///< Calls of task_done() for lost items.
  /// Processes that were gone before they had finished all; the oldest are forgotten.
  std::set<std::uint64_t> losers_;
  bool recall_all_ = false; ///< Whether recall() recalls all prefetched items.
  bool closed_ = false, dropped_ = false;
};

} // namespace fiber::actors
