// SPDX-License-Identifier: Apache-2.0
#pragma once

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

namespace fiber::actors {

/// What is put into a channel.
struct Item {
  std::string type; ///< Empty where all have the same.
  Payload bytes;    ///< As its `put` came.
  detail::KeptObjects kept = {};

  /// What it takes of the room, with what it takes to keep it.
  std::size_t cost() const { return item_overhead + type.size() + bytes.size(); }
  static constexpr std::size_t item_overhead = 256;
};

/// How many others may come with an item that is asked for.
struct ItemsAhead {
  std::size_t most = 0;  ///< To who is alone,
  std::size_t quick = 0; ///< and to one of several: what it takes in no time.
};

/// A first-in-first-out channel as its home sees it: items, those who wait for them and
/// those who wait for room. It does nothing by itself: every member function says whom to
/// answer what.
///
/// An item that is handed out is its consumer's once that says so, took(), or has
/// recorded it. If the consumer goes away before, the item stands in its old place again.
///
/// A consumer that is alone for a while is sent items ahead with the one that it asked
/// for. When somebody else asks they are recalled, and the consumer gives back what it
/// has not taken. Nobody is given any until then, so that each gets those of one producer
/// in their order. Of several consumers each is sent what it says it takes in no time, in
/// turn; that is recalled only if it takes longer.
///
/// A producer that puts often is lent room, for items that it need not ask for. When
/// somebody else waits for room it is reclaimed, and the producer says what it has not
/// used.
class Channel {
public:
  struct Limits {
    std::size_t items = SIZE_MAX;
    std::size_t bytes = std::size_t{256} << 20; ///< One item is taken in any case.
    /// Whether a put that waits for room has not returned, so that it can be refused.
    bool puts_wait = false;
    /// Items go ahead to who has asked more often in a row than this; each recall doubles
    /// it. Room is lent to who has put so often.
    std::size_t alone = 4;
  };
  struct Reply {
    Asker to;
    Answer what = Answer::done;
    Item item = {};               ///< For Answer::value; its type alone for other_type.
    std::vector<Item> ahead = {}; ///< Behind it.
    std::size_t room = 0;         ///< For Answer::room: items that may be put, or bytes.
  };
  using Replies = std::vector<Reply>;
  /// How many items of an answer its consumer has recorded as taken, as far as known.
  using Taken = std::function<std::uint32_t(const Asker&)>;

  explicit Channel(Limits limits, Taken taken = nullptr)
    : limits_(limits), recorded_(std::move(taken)) {}

  /// Answered when there is room for it. `lends`: room may be lent to who puts.
  Replies put(Asker who, Item item, bool lends = false);
  /// What nobody waits to see put. With a limited number of items for room that was lent,
  /// else as many as the producer likes; what they cost is told when it has room.
  Replies put_all(std::uint64_t process, std::vector<Item> items);
  /// So much of what was lent is not used.
  Replies unused(std::uint64_t process, std::size_t items);
  /// Answered with the first item. `type` empty: whatever it is.
  Replies get(Asker who, std::string type, ItemsAhead ahead = {});
  Replies poll(Asker who);
  Replies join(Asker who);
  /// False: there were no more items than that.
  std::optional<Replies> task_done();
  /// Items that can be got.
  std::size_t size();
  /// Answers a request that still waits with `cancelled`. One that has been answered is
  /// left alone.
  Replies cancel(Asker who);
  /// The item itself, 0, or one of those behind it.
  Replies took(Asker who, std::size_t index = 0);
  /// The first so many.
  Replies took_first(Asker who, std::size_t count);
  /// Those from `first` on come back.
  Replies give_back(Asker who, std::size_t first);
  /// No more is put; what is there can still be got.
  Replies close();
  /// Nobody will get anything any more.
  Replies drop();
  /// What that process was given and had not taken over goes back. `taken`: what it has
  /// recorded last.
  Replies gone(std::uint64_t process, const Taken& taken = nullptr);

  /// Whether somebody waits for room that others may have but need not.
  bool is_short() const { return !puts_.empty() && (ahead_ > 0 || lent_in_all_ > 0); }
  /// Whether somebody waits for a consumer to take what it said it takes in no time.
  bool waits_for_quick() const {
    return !quick_.empty() && !(gets_.empty() && polls_.empty());
  }
  /// To be called if one of them is so for a while: asks back what is lent, and what was
  /// ahead at the last call. Those whose answers are in `to_tell` have items ahead: what
  /// they take next is to be told.
  Replies press(std::vector<Asker>& to_tell);

private:
  struct Stored {
    std::uint64_t place = 0; ///< In the order of arrival.
    Item item;
  };
  struct WaitingPut {
    Asker who;
    Stored stored;
    bool cancelled = false; ///< As soon as no room is lent.
  };
  struct WaitingGet {
    Asker who;
    std::string type;
    ItemsAhead ahead = {};
    bool cancelled = false; ///< As soon as nothing is on its way back.
  };
  /// An answer with items.
  struct Handed {
    std::vector<Stored> items;
    std::vector<bool> taken;
    std::size_t first = 0; ///< The first one that is not taken.
    std::size_t left = 0;  ///< How many are not.
    bool alone = false;    ///< Its consumer was alone.
  };
  using HandedOut = std::map<Asker, Handed>;
  struct Lent {
    std::size_t puts = 0; ///< How often it has put.
    std::size_t items = 0;
    bool reclaimed = false;
  };

  bool has_room(const Item& item) const;
  bool empty() const {
    return items_.empty() && puts_.empty() && out_.empty() && lent_in_all_ == 0;
  }
  void store(Stored stored);
  /// Matches items with those who wait for them, and room with those who wait for that.
  void settle(Replies& replies);
  void take_puts(Replies& replies);
  void lend(std::uint64_t process, Replies& replies);
  void reclaim(Replies& replies);
  void hand_out(const WaitingGet& get, Replies& replies);
  void nothing_ahead(const Asker& who);
  void recall(Replies& replies);
  void take(Handed& handed, std::size_t index);
  void take_first(Handed& handed, std::size_t count);
  /// Looks up what consumers have recorded.
  void refresh();
  /// Those of it from `first` on stand in their places again.
  void store_again(Handed& handed, std::size_t first);
  HandedOut::iterator forget_if_taken(HandedOut::iterator at);

  Limits limits_;
  Taken recorded_;
  std::uint64_t next_place_ = 0;
  std::deque<Stored> items_; ///< By place.
  std::size_t bytes_ = 0;    ///< Of items_.
  std::deque<WaitingPut> puts_;
  std::deque<WaitingGet> gets_;
  std::vector<Asker> polls_, joins_;
  HandedOut out_;                      ///< Answers of which not all is taken over.
  std::size_t ahead_ = 0;              ///< Items in these that were not asked for.
  std::set<Asker> ahead_at_;           ///< Requests of which some may not be taken.
  std::set<Asker> recalled_;           ///< Of these, whose were asked back.
  std::set<Asker> quick_;              ///< And who is going to take them in no time,
  std::set<Asker> slow_;               ///< but has had them at the last press().
  std::map<std::uint64_t, Lent> lent_; ///< Producers.
  std::size_t lent_in_all_ = 0;
  std::uint64_t asks_ = 0;   ///< The process that has asked last,
  std::size_t in_a_row_ = 0; ///< and how often.
  std::uint64_t undone_ = 0; ///< Items without a task_done().
  bool closed_ = false, dropped_ = false;
};

} // namespace fiber::actors
