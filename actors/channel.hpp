// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "actors/object_protocol.hpp"

namespace fiber::actors {

/// What is put into a channel.
struct Item {
  std::string type; ///< Empty where all have the same.
  Payload bytes;    ///< As its `put` came.
  detail::KeptObjects kept = {};

  /// What it takes of the room, with what it takes to keep it.
  std::size_t cost() const { return item_overhead + bytes.size(); }
  static constexpr std::size_t item_overhead = 256;
};

/// A first-in-first-out channel as its home sees it: items, those who wait for them and
/// those who wait for room. It does nothing by itself: every member function says whom to
/// answer what.
///
/// An item that is handed out is its consumer's once that says so, took(). If the
/// consumer goes away before, the item stands in its old place again.
///
/// A consumer that is alone for a while is sent items ahead with the one that it asked
/// for. When somebody else asks they are recalled, and the consumer gives back what it
/// has not taken. Nobody is given any until then, so that each gets those of one producer
/// in their order.
class Channel {
public:
  struct Limits {
    std::size_t items = SIZE_MAX;
    std::size_t bytes = std::size_t{256} << 20; ///< One item is taken in any case.
    /// Whether a put that waits for room has not returned, so that it can be refused.
    bool puts_wait = false;
    /// Items go ahead to who has asked more often in a row than this; each recall doubles
    /// it.
    std::size_t alone = 4;
  };
  struct Reply {
    Asker to;
    Answer what = Answer::done;
    Item item = {};               ///< For Answer::value; its type alone for other_type.
    std::vector<Item> ahead = {}; ///< Behind it.
  };
  using Replies = std::vector<Reply>;

  explicit Channel(Limits limits) : limits_(limits) {}

  /// Answered when there is room for it.
  Replies put(Asker who, Item item);
  /// Answered with the first item. `type` empty: whatever it is. `most`: how many others
  /// may come with it.
  Replies get(Asker who, std::string type, std::size_t most_ahead = 0);
  Replies poll(Asker who);
  Replies join(Asker who);
  /// False: there were no more items than that.
  std::optional<Replies> task_done();
  /// Items that can be got.
  std::size_t size() const {
    return items_.size() + ahead_ + (limits_.puts_wait ? 0 : puts_.size());
  }
  /// Answers a request that still waits with `cancelled`. One that has been answered is
  /// left alone.
  Replies cancel(Asker who);
  /// The item itself, 0, or one of those behind it.
  Replies took(Asker who, std::size_t index = 0);
  /// Those from `first` on come back.
  Replies give_back(Asker who, std::size_t first);
  /// No more is put; what is there can still be got.
  Replies close();
  /// Nobody will get anything any more.
  Replies drop();
  /// What that process was given and had not taken over goes back.
  Replies gone(std::uint64_t process);

private:
  struct Stored {
    std::uint64_t place = 0; ///< In the order of arrival.
    Item item;
  };
  struct WaitingPut {
    Asker who;
    Stored stored;
  };
  struct WaitingGet {
    Asker who;
    std::string type;
    std::size_t most_ahead = 0;
    bool cancelled = false; ///< As soon as nothing is on its way back.
  };
  using Handed = std::pair<Asker, std::size_t>;

  bool has_room(const Item& item) const;
  bool empty() const { return items_.empty() && puts_.empty() && out_.empty(); }
  void store(Stored stored);
  /// Matches items with those who wait for them, and room with those who wait for that.
  void settle(Replies& replies);
  void hand_out(const WaitingGet& get, Replies& replies);
  Item hand_out_first(const Handed& as);
  void recall(Replies& replies);
  void forget_ahead(const Asker& who);
  /// The next one after it.
  std::map<Handed, Stored>::iterator store_again(std::map<Handed, Stored>::iterator at);

  Limits limits_;
  std::uint64_t next_place_ = 0;
  std::deque<Stored> items_; ///< By place.
  std::size_t bytes_ = 0;    ///< Of items_.
  std::deque<WaitingPut> puts_;
  std::deque<WaitingGet> gets_;
  std::vector<Asker> polls_, joins_;
  std::map<Handed, Stored> out_; ///< Handed out and not taken over.
  std::size_t ahead_ = 0;        ///< Of these, that were not asked for.
  std::set<Asker> ahead_at_;     ///< Requests of which some may not be taken.
  std::set<Asker> recalled_;     ///< Of these, whose were asked back.
  std::uint64_t asks_ = 0;       ///< The process that has asked last,
  std::size_t in_a_row_ = 0;     ///< and how often.
  std::uint64_t undone_ = 0;     ///< Items without a task_done().
  bool closed_ = false, dropped_ = false;
};

} // namespace fiber::actors
