// SPDX-License-Identifier: Apache-2.0
#include "actors/channel.hpp"

#include <algorithm>
#include <iterator>

namespace fiber::actors {

bool Channel::has_room(const Item& item) const {
  return items_.empty() ||
         (items_.size() < limits_.items && bytes_ + item.cost() <= limits_.bytes);
}

/// In its place: one that comes back is before all that were never handed out.
void Channel::store(Stored stored) {
  bytes_ += stored.item.cost();
  auto at =
    std::upper_bound(items_.begin(), items_.end(), stored.place,
                     [](std::uint64_t place, auto& item) { return place < item.place; });
  items_.insert(at, std::move(stored));
}

void Channel::hand_out(const Asker& who, Replies& replies) {
  auto first = std::move(items_.front());
  items_.pop_front();
  bytes_ -= first.item.cost();
  replies.push_back({who, Answer::value, first.item});
  out_.emplace(who, std::move(first));
}

void Channel::settle(Replies& replies) {
  for (;;) {
    while (!puts_.empty() && has_room(puts_.front().stored.item)) {
      auto put = std::move(puts_.front());
      puts_.pop_front();
      store(std::move(put.stored));
      replies.push_back({put.who, Answer::done});
    }
    if (gets_.empty() || items_.empty())
      break;
    auto get = std::move(gets_.front());
    gets_.pop_front();
    auto& first = items_.front().item;
    if (get.type.empty() || get.type == first.type)
      hand_out(get.who, replies);
    else
      replies.push_back({get.who, Answer::other_type, {.type = first.type, .bytes = {}}});
  }
  if (!items_.empty())
    for (auto& who : std::exchange(polls_, {}))
      replies.push_back({who, Answer::done});
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

Channel::Replies Channel::get(Asker who, std::string type) {
  Replies replies;
  gets_.push_back({who, std::move(type)});
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

Channel::Replies Channel::took(Asker who) {
  out_.erase(who);
  Replies replies;
  settle(replies); // It may have been the last one of a closed channel.
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
  bytes_ = 0;
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
  for (auto at = out_.lower_bound({process, 0});
       at != out_.end() && at->first.process == process; at = out_.erase(at))
    if (!dropped_)
      store(std::move(at->second));
  Replies replies;
  settle(replies);
  return replies;
}

} // namespace fiber::actors
