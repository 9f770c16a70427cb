// SPDX-License-Identifier: Apache-2.0
#include "actors/queue/channel.hpp"

#include <algorithm>
#include <iterator>

namespace fiber::actors {
namespace {

constexpr std::size_t max_prefetched_bytes = std::size_t{256} << 10;
constexpr std::size_t max_streak = 4096;
constexpr std::size_t max_lent = 4096;
/// The most items of a producer that may wait without lent room. Our programs stay below
/// it: they report room that is taken back as unused first.
constexpr std::size_t max_unlent = 2 * max_lent;

} // namespace

bool Channel::has_room(const Item& item) const {
  auto items = items_.size() + prefetched_ + lent_total_;
  return items == 0 || (items < limits_.items && bytes_ + item.cost() <= limits_.bytes);
}

/// Stores an item at its place: one that comes back goes before later ones.
void Channel::store(Stored stored) {
  bytes_ += stored.item.cost();
  if (items_.empty() || items_.back().place < stored.place) {
    items_.push_back(std::move(stored));
    return;
  }
  auto at =
    std::upper_bound(items_.begin(), items_.end(), stored.place,
                     [](std::uint64_t place, auto& item) { return place < item.place; });
  items_.insert(at, std::move(stored));
}

// -- handing out --

void Channel::hand_out(const WaitingGet& get, Replies& replies) {
  HandedOut handed;
  auto hand = [&] {
    bytes_ -= items_.front().item.cost();
    handed.items.push_back(std::move(items_.front()));
    items_.pop_front();
    return handed.items.back().item;
  };
  Reply reply{get.who, Answer::value, hand()};
  auto bytes = reply.item.bytes.size();
  auto may_prefetch = [&](const Item& item) {
    return item.kept.empty() && (get.type.empty() || item.type == get.type) &&
           (bytes += item.bytes.size()) <= max_prefetched_bytes;
  };
  handed.sole = gets_.empty() && gets_in_a_row_ > limits_.streak;
  // A sole consumer gets its limit; with several, the others that wait keep their shares.
  auto most = handed.sole
                ? get.prefetch.sole
                : std::min(get.prefetch.quick, items_.size() / (gets_.size() + 1));
  // At most half of the room, since these items occupy it until the consumer reports
  // them.
  most = limits_.puts_wait ? std::min(most, limits_.items / 2) : most;
  most = get.cancelled ? 0 : most;
  while (!items_.empty() && reply.prefetched.size() < most &&
         may_prefetch(items_.front().item))
    reply.prefetched.push_back(hand());
  prefetched_ += reply.prefetched.size();
  if (!reply.prefetched.empty()) {
    prefetched_at_.insert(get.who);
    if (!handed.sole)
      quick_.insert(get.who);
  }
  handed.left = handed.items.size();
  handed.taken.resize(handed.left);
  handed.request = get.who.request;
  handed.consumer = &taken_.of(get.who.process);
  outstanding_[get.who] = std::move(handed);
  replies.push_back(std::move(reply));
}

void Channel::take(HandedOut& handed, std::size_t index) {
  if (index >= handed.items.size() || handed.taken[index])
    return;
  handed.taken[index] = true;
  auto& item = handed.items[index];
  if (limits_.redeliver) {
    handed.consumer->add({handed.request, index}, std::move(item));
  } else {
    item.item = {};
    handed.consumer->add();
  }
  --handed.left;
  prefetched_ -= index > 0 ? 1 : 0;
  while (handed.first < handed.items.size() && handed.taken[handed.first])
    ++handed.first;
}

void Channel::take_first(HandedOut& handed, std::size_t count) {
  while (handed.first < std::min(count, handed.items.size()))
    take(handed, handed.first);
}

Channel::Outstanding::iterator Channel::forget_if_taken(Outstanding::iterator at) {
  auto& [who, handed] = *at;
  if (handed.left == 0 || (handed.left == 1 && !handed.taken.front()))
    forget_prefetch(who);
  return handed.left == 0 ? outstanding_.erase(at) : std::next(at);
}

void Channel::put_back(HandedOut& handed, std::size_t first) {
  for (auto i = first; i < handed.items.size(); ++i)
    if (!handed.taken[i]) {
      prefetched_ -= i > 0 ? 1 : 0;
      --handed.left;
      if (!dropped_)
        store(std::move(handed.items[i]));
    }
  handed.items.resize(std::min(first, handed.items.size()));
  handed.taken.resize(handed.items.size());
}

void Channel::apply_recorded() {
  if (!recorded_)
    return;
  for (auto at = outstanding_.begin(); at != outstanding_.end(); at = forget_if_taken(at))
    take_first(at->second, recorded_(at->first));
}

void Channel::apply_recorded(std::uint64_t process) {
  if (!recorded_)
    return;
  for (auto at = outstanding_.lower_bound({process, 0});
       at != outstanding_.end() && at->first.process == process; at = forget_if_taken(at))
    take_first(at->second, recorded_(at->first));
}

void Channel::forget_prefetch(const Asker& who) {
  prefetched_at_.erase(who);
  quick_.erase(who);
  slow_.erase(who);
}

void Channel::recall(Replies& replies) {
  const auto waits = !gets_.empty() || !polls_.empty();
  const auto all = std::exchange(recall_all_, false);
  if (!waits && !all)
    return;
  auto any_cancelled = std::ranges::any_of(gets_, &WaitingGet::cancelled);
  for (auto& who : prefetched_at_)
    if ((all || any_cancelled || !quick_.contains(who)) && recalled_.insert(who).second) {
      if (waits && outstanding_[who].sole)
        limits_.streak = std::min(2 * limits_.streak + 1, max_streak);
      replies.push_back({who, Answer::recalled});
    }
}

// -- room --

/// Stores the items of waiting puts for which there is room now.
void Channel::take_puts(Replies& replies) {
  while (!puts_.empty() && has_room(puts_.front().stored.item)) {
    auto put = std::move(puts_.front());
    puts_.pop_front();
    auto cost = put.stored.item.cost();
    store(std::move(put.stored));
    if (put.who.request != 0)
      replies.push_back({put.who, Answer::done});
    else if (!replies.empty() && replies.back().to == put.who &&
             replies.back().what == Answer::room)
      replies.back().room += cost;
    else
      replies.push_back({.to = put.who, .what = Answer::room, .room = cost});
  }
}

/// Lends a producer that puts often up to its share of half of the free room, unless a
/// put waits. A producer that still has half of its share or more is lent nothing.
void Channel::lend(std::uint64_t process, Replies& replies) {
  auto used = items_.size() + prefetched_ + lent_total_;
  if (!limits_.puts_wait || closed_ || !puts_.empty() || used >= limits_.items)
    return;
  auto& lent = lent_[process];
  if (++lent.puts <= limits_.streak || lent.reclaimed)
    return;
  auto share = std::min((limits_.items - used) / (2 * lent_.size()), max_lent);
  if (share <= 2 * lent.items)
    return;
  auto more = share - lent.items;
  lent.items += more;
  lent_total_ += more;
  replies.push_back({.to = {process, 0}, .what = Answer::room, .room = more});
}

void Channel::reclaim(Replies& replies) {
  for (auto& [process, lent] : lent_)
    if (lent.items > 0 && !std::exchange(lent.reclaimed, true))
      replies.push_back({.to = {process, 0}, .what = Answer::reclaimed});
}

Channel::Replies Channel::unused(std::uint64_t process, std::size_t items) {
  Replies replies;
  auto& lent = lent_[process];
  items = std::min(items, lent.items);
  lent.items -= items;
  lent_total_ -= items;
  lent.reclaimed = false;
  lent.puts = 0;
  serve_waiting(replies);
  return replies;
}

Channel::Replies Channel::relieve_shortage(std::vector<Asker>& to_tell) {
  Replies replies;
  apply_recorded();
  for (auto& who : slow_)
    quick_.erase(who);
  slow_ = quick_;
  serve_waiting(replies);
  if (is_short()) {
    reclaim(replies);
    to_tell.assign(prefetched_at_.begin(), prefetched_at_.end());
  }
  return replies;
}

// -- requests --

void Channel::serve_waiting(Replies& replies) {
  for (;;) {
    take_puts(replies);
    if (gets_.empty() || items_.empty() || !prefetched_at_.empty())
      break;
    auto get = std::move(gets_.front());
    gets_.pop_front();
    auto& first = items_.front().item;
    if (get.type.empty() || get.type == first.type)
      hand_out(get, replies);
    else
      replies.push_back({get.who, Answer::other_type, {.type = first.type, .bytes = {}}});
  }
  if (!items_.empty())
    for (auto& who : std::exchange(polls_, {}))
      replies.push_back({who, Answer::done});
  recall(replies);
  if (prefetched_at_.empty())
    std::erase_if(gets_, [&](auto& get) {
      if (get.cancelled)
        replies.push_back({get.who, Answer::cancelled});
      return get.cancelled;
    });
  if (lent_total_ == 0)
    refused(std::erase_if(puts_, [&](auto& put) {
      if (put.cancelled)
        replies.push_back({put.who, Answer::cancelled});
      return put.cancelled;
    }));
  if (closed_ && empty())
    end_gets(replies);
  if (!joins_.empty())
    answer_joins(replies);
}

/// Answers those who wait for an item of a closed and empty channel. They continue to
/// wait while the items of another consumer may still come back.
void Channel::end_gets(Replies& replies) {
  auto ends = [&](const Asker& who) {
    if (taken_.may_come_back(who.process, home_, limits_.max_redeliveries))
      return false;
    replies.push_back({who, Answer::closed});
    return true;
  };
  std::erase_if(gets_, [&](auto& get) { return ends(get.who); });
  std::erase_if(polls_, ends);
}

Channel::Replies Channel::put(Asker who, Item item, bool may_lend) {
  Replies replies;
  if (closed_) {
    replies.push_back({who, Answer::closed});
    return replies;
  }
  ++unfinished_;
  note_producer(who.process);
  if (!has_room(item))
    apply_recorded();
  puts_.push_back({who, {next_place_++, std::move(item)}});
  serve_waiting(replies);
  if (may_lend)
    lend(who.process, replies);
  return replies;
}

Channel::Replies Channel::put_all(std::uint64_t process, std::vector<Item> items) {
  Replies replies;
  std::optional<std::size_t> unlent; // That wait already.
  for (auto& item : items) {
    auto lent = lent_.find(process);
    auto has_lent = lent != lent_.end() && lent->second.items > 0;
    auto counts = !has_lent && limits_.puts_wait;
    if (counts && !unlent)
      unlent = static_cast<std::size_t>(
        std::ranges::count(puts_, Asker{process, 0}, &WaitingPut::who));
    if ((closed_ && !has_lent) || (counts && ++*unlent > max_unlent)) {
      replies.push_back({{process, 0}, Answer::closed});
      break;
    }
    ++unfinished_;
    note_producer(process);
    if (has_lent) {
      --lent->second.items;
      --lent_total_;
      store({next_place_++, std::move(item)});
    } else {
      puts_.push_back({{process, 0}, {next_place_++, std::move(item)}});
    }
  }
  serve_waiting(replies);
  lend(process, replies);
  return replies;
}

Channel::Replies Channel::get(Asker who, std::string type, Prefetch prefetch) {
  Replies replies;
  gets_in_a_row_ = who.process == last_getter_ ? gets_in_a_row_ + 1 : 1;
  last_getter_ = who.process;
  if (gets_in_a_row_ == 1)
    consumers_.insert(who.process);
  gets_.push_back({who, std::move(type), prefetch});
  serve_waiting(replies);
  return replies;
}

Channel::Replies Channel::poll(Asker who) {
  Replies replies;
  polls_.push_back(who);
  serve_waiting(replies);
  return replies;
}

std::size_t Channel::size() {
  apply_recorded();
  return items_.size() + prefetched_ + (limits_.puts_wait ? 0 : puts_.size());
}

Channel::Replies Channel::cancel(Asker who) {
  // A get with a timeout of 0 must still get the items that size() counts: wait for the
  // recalled ones.
  if (auto get = std::ranges::find(gets_, who, &WaitingGet::who);
      get != gets_.end() && !prefetched_at_.empty()) {
    get->cancelled = true;
    Replies replies;
    recall(replies);
    return replies;
  }
  auto waits = std::erase_if(gets_, [&](auto& get) { return get.who == who; }) +
               std::erase(polls_, who) + std::erase(joins_, who);
  Replies replies;
  if (waits > 0)
    replies.push_back({who, Answer::cancelled});
  if (auto put = std::ranges::find(puts_, who, &WaitingPut::who); put != puts_.end()) {
    put->cancelled = true;
    apply_recorded();
    reclaim(replies);
  }
  serve_waiting(replies); // Others may have waited for this request.
  return replies;
}

Channel::Replies Channel::took(Asker who, std::size_t index) {
  if (auto at = outstanding_.find(who); at != outstanding_.end()) {
    take(at->second, index);
    forget_if_taken(at);
  }
  Replies replies;
  serve_waiting(replies); // It may have been the last item of a closed channel.
  return replies;
}

Channel::Replies Channel::took_first(Asker who, std::size_t count) {
  if (auto at = outstanding_.find(who); at != outstanding_.end()) {
    take_first(at->second, count);
    forget_if_taken(at);
  }
  Replies replies;
  serve_waiting(replies);
  return replies;
}

Channel::Replies Channel::give_back(Asker who, std::size_t first) {
  recalled_.erase(who);
  forget_prefetch(who);
  if (auto at = outstanding_.find(who); at != outstanding_.end()) {
    put_back(at->second, std::max<std::size_t>(first, 1));
    forget_if_taken(at);
  }
  Replies replies;
  serve_waiting(replies);
  return replies;
}

} // namespace fiber::actors
