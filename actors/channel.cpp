// SPDX-License-Identifier: Apache-2.0
#include "actors/channel.hpp"

#include <algorithm>
#include <iterator>

namespace fiber::actors {
namespace {

constexpr std::size_t most_bytes_ahead = std::size_t{256} << 10;
constexpr std::size_t most_alone = 4096;

} // namespace

bool Channel::has_room(const Item& item) const {
  return (items_.empty() && ahead_ == 0) || (items_.size() + ahead_ < limits_.items &&
                                             bytes_ + item.cost() <= limits_.bytes);
}

/// In its place: one that comes back is before all that were never handed out.
void Channel::store(Stored stored) {
  bytes_ += stored.item.cost();
  auto at =
    std::upper_bound(items_.begin(), items_.end(), stored.place,
                     [](std::uint64_t place, auto& item) { return place < item.place; });
  items_.insert(at, std::move(stored));
}

Item Channel::hand_out_first(const Handed& as) {
  auto first = std::move(items_.front());
  items_.pop_front();
  bytes_ -= first.item.cost();
  ahead_ += as.second > 0 ? 1 : 0;
  auto item = first.item;
  out_.emplace(as, std::move(first));
  return item;
}

void Channel::hand_out(const WaitingGet& get, Replies& replies) {
  auto may_go_ahead = [&](const Item& item) {
    return item.kept.empty() && (get.type.empty() || item.type == get.type);
  };
  Reply reply{get.who, Answer::value, hand_out_first({get.who, 0})};
  auto bytes = reply.item.bytes.size();
  auto alone = gets_.empty() && in_a_row_ > limits_.alone;
  while (alone && !items_.empty() && reply.ahead.size() < get.most_ahead &&
         may_go_ahead(items_.front().item) &&
         (bytes += items_.front().item.bytes.size()) <= most_bytes_ahead)
    reply.ahead.push_back(hand_out_first({get.who, reply.ahead.size() + 1}));
  if (!reply.ahead.empty())
    ahead_at_.insert(get.who);
  replies.push_back(std::move(reply));
}

std::map<Channel::Handed, Channel::Stored>::iterator
Channel::store_again(std::map<Handed, Stored>::iterator at) {
  ahead_ -= at->first.second > 0 ? 1 : 0;
  if (!dropped_)
    store(std::move(at->second));
  return out_.erase(at);
}

void Channel::recall(Replies& replies) {
  if (gets_.empty() && polls_.empty())
    return;
  for (auto& who : ahead_at_)
    if (recalled_.insert(who).second) {
      limits_.alone = std::min(2 * limits_.alone + 1, most_alone);
      replies.push_back({who, Answer::recalled});
    }
}

/// All of its items were taken, or came back.
void Channel::forget_ahead(const Asker& who) {
  auto first = out_.lower_bound({who, 1});
  if (first == out_.end() || first->first.first != who)
    ahead_at_.erase(who);
}

void Channel::settle(Replies& replies) {
  for (;;) {
    while (!puts_.empty() && has_room(puts_.front().stored.item)) {
      auto put = std::move(puts_.front());
      puts_.pop_front();
      store(std::move(put.stored));
      replies.push_back({put.who, Answer::done});
    }
    if (gets_.empty() || items_.empty() || !ahead_at_.empty())
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
  if (ahead_at_.empty())
    std::erase_if(gets_, [&](auto& get) {
      if (get.cancelled)
        replies.push_back({get.who, Answer::cancelled});
      return get.cancelled;
    });
  if (closed_ && empty()) {
    for (auto& get : std::exchange(gets_, {}))
      replies.push_back({get.who, Answer::closed});
    for (auto& who : std::exchange(polls_, {}))
      replies.push_back({who, Answer::closed});
  }
  if (undone_ == 0 || dropped_)
    for (auto& who : std::exchange(joins_, {}))
      replies.push_back({who, undone_ == 0 ? Answer::done : Answer::closed});
}

Channel::Replies Channel::put(Asker who, Item item) {
  Replies replies;
  if (closed_) {
    replies.push_back({who, Answer::closed});
    return replies;
  }
  ++undone_;
  puts_.push_back({who, {next_place_++, std::move(item)}});
  settle(replies);
  return replies;
}

Channel::Replies Channel::get(Asker who, std::string type, std::size_t most_ahead) {
  Replies replies;
  in_a_row_ = who.process == asks_ ? in_a_row_ + 1 : 1;
  asks_ = who.process;
  gets_.push_back({who, std::move(type), most_ahead});
  settle(replies);
  return replies;
}

Channel::Replies Channel::poll(Asker who) {
  Replies replies;
  polls_.push_back(who);
  settle(replies);
  return replies;
}

Channel::Replies Channel::join(Asker who) {
  Replies replies;
  joins_.push_back(who);
  settle(replies);
  return replies;
}

std::optional<Channel::Replies> Channel::task_done() {
  if (undone_ == 0)
    return std::nullopt;
  Replies replies;
  --undone_;
  settle(replies);
  return replies;
}

Channel::Replies Channel::cancel(Asker who) {
  // Items that were there, as size() says, are not missed by who waits no time for them.
  if (auto get = std::ranges::find(gets_, who, &WaitingGet::who);
      get != gets_.end() && !ahead_at_.empty()) {
    get->cancelled = true;
    return {};
  }
  auto waits = std::erase_if(gets_, [&](auto& get) { return get.who == who; }) +
               std::erase(polls_, who) + std::erase(joins_, who);
  auto puts = std::erase_if(puts_, [&](auto& put) { return put.who == who; });
  undone_ -= puts;
  Replies replies;
  if (waits + puts > 0)
    replies.push_back({who, Answer::cancelled});
  settle(replies); // Others may have waited behind it.
  return replies;
}

Channel::Replies Channel::took(Asker who, std::size_t index) {
  if (out_.erase({who, index}) > 0 && index > 0) {
    --ahead_;
    forget_ahead(who);
  }
  Replies replies;
  settle(replies); // It may have been the last one of a closed channel.
  return replies;
}

Channel::Replies Channel::give_back(Asker who, std::size_t first) {
  recalled_.erase(who);
  ahead_at_.erase(who);
  for (auto at = out_.lower_bound({who, std::max<std::size_t>(first, 1)});
       at != out_.end() && at->first.first == who;)
    at = store_again(at);
  Replies replies;
  settle(replies);
  return replies;
}

Channel::Replies Channel::close() {
  Replies replies;
  closed_ = true;
  if (limits_.puts_wait) {
    undone_ -= puts_.size();
    for (auto& put : std::exchange(puts_, {}))
      replies.push_back({put.who, Answer::closed});
  }
  settle(replies);
  return replies;
}

Channel::Replies Channel::drop() {
  Replies replies;
  closed_ = dropped_ = true;
  for (auto& put : std::exchange(puts_, {}))
    replies.push_back({put.who, Answer::closed});
  items_.clear();
  out_.clear();
  ahead_at_.clear();
  bytes_ = ahead_ = 0;
  settle(replies);
  return replies;
}

Channel::Replies Channel::gone(std::uint64_t process) {
  std::erase_if(gets_, [&](auto& get) { return get.who.process == process; });
  auto is_its = [&](auto& who) { return who.process == process; };
  std::erase_if(polls_, is_its);
  std::erase_if(joins_, is_its);
  if (limits_.puts_wait) // Else it has been put, and only waits for room.
    undone_ -=
      std::erase_if(puts_, [&](auto& put) { return put.who.process == process; });
  for (auto at = out_.lower_bound({{process, 0}, 0});
       at != out_.end() && is_its(at->first.first);)
    at = store_again(at);
  std::erase_if(recalled_, is_its);
  std::erase_if(ahead_at_, is_its);
  Replies replies;
  settle(replies);
  return replies;
}

} // namespace fiber::actors
