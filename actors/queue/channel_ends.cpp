// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "actors/queue/channel.hpp"

// The end of items, of a channel and of its users.

namespace fiber::actors {
namespace {

constexpr std::size_t max_losers = 1024;

} // namespace

// -- finished items --

Channel::Replies Channel::join(Asker who) {
  Replies replies;
  joins_.push_back(who);
  serve_waiting(replies);
  return replies;
}

void Channel::answer_joins(Replies& replies) {
  std::set<std::uint64_t> told;
  std::erase_if(joins_, [&](auto& who) {
    auto lost = lost_.untold(who.process);
    if (!lost && unfinished_ > 0 && !dropped_)
      return false;
    auto what = lost ? Answer::lost : unfinished_ == 0 ? Answer::done : Answer::closed;
    if (lost) {
      told.insert(who.process);
      if (limits_.redeliver)
        lost->redeliveries = limits_.max_redeliveries;
    }
    replies.push_back({.to = who, .what = what, .lost = std::move(lost)});
    return true;
  });
  for (auto process : told)
    lost_.told(process);
}

Channel::TaskDone Channel::task_done(std::uint64_t process,
                                     const std::optional<TakenKey>& key) {
  TaskDone done{.what = finish(process, key)};
  if (done.what == TaskDone::What::done) {
    --unfinished_;
    serve_waiting(done.replies);
  }
  return done;
}

Channel::HandedOut* Channel::untaken(std::uint64_t process, const TakenKey& key) {
  auto at = outstanding_.find({process, key.request});
  if (at == outstanding_.end() || key.index >= at->second.items.size() ||
      at->second.taken[key.index])
    return nullptr;
  return &at->second;
}

Channel::TaskDone::What Channel::finish(std::uint64_t process,
                                        const std::optional<TakenKey>& key) {
  using What = TaskDone::What;
  if (losers_.contains(process))
    return What::late;
  if (taken_.count(process) == 0)
    apply_recorded(process);
  if (limits_.redeliver) {
    // Whoever has finished an item has taken it, even if its ledger was not read yet.
    if (auto* handed = key ? untaken(process, *key) : nullptr) {
      take(*handed, key->index);
      forget_if_taken(outstanding_.find({process, key->request}));
    }
    return taken_.finish(process, key) ? What::done : What::too_often;
  }
  // It may be for an item that another process had taken and passed on before it ended.
  const auto may_be_late = late_ < lost_.items();
  if (may_be_late)
    apply_recorded();
  if (unfinished_ > (may_be_late ? count_untaken() : 0)) {
    taken_.finish(process, std::nullopt);
    return What::done;
  }
  if (!may_be_late)
    return What::too_often;
  ++late_;
  return What::late;
}

// -- ends --

Channel::Replies Channel::close() {
  Replies replies;
  closed_ = true;
  if (limits_.puts_wait) {
    refused(puts_.size());
    for (auto& put : std::exchange(puts_, {}))
      replies.push_back({put.who, Answer::closed});
  }
  reclaim(replies);
  serve_waiting(replies);
  return replies;
}

Channel::Replies Channel::drop() {
  Replies replies;
  closed_ = dropped_ = true;
  for (auto& put : std::exchange(puts_, {}))
    replies.push_back({put.who, Answer::closed});
  items_.clear();
  outstanding_.clear();
  taken_.clear();
  prefetched_at_.clear();
  quick_.clear();
  slow_.clear();
  lent_.clear();
  bytes_ = prefetched_ = lent_total_ = 0;
  serve_waiting(replies);
  return replies;
}

Channel::Replies Channel::gone(std::uint64_t process, const Taken& taken,
                               const std::string& job) {
  auto is_its = [&](auto& who) { return who.process == process; };
  producers_.erase(process);
  last_putter_.reset();
  consumers_.erase(process);
  std::erase_if(gets_, [&](auto& get) { return is_its(get.who); });
  std::erase_if(polls_, is_its);
  std::erase_if(joins_, is_its);
  if (limits_.puts_wait) // Otherwise put() has returned: the item counts as put.
    refused(std::erase_if(puts_, [&](auto& put) { return is_its(put.who); }));
  for (auto at = outstanding_.lower_bound({process, 0});
       at != outstanding_.end() && is_its(at->first);) {
    if (taken)
      take_first(at->second, taken(at->first));
    put_back(at->second, 0);
    at = outstanding_.erase(at);
  }
  release_taken(process, job);
  lost_.forget(process);
  std::erase_if(recalled_, is_its);
  for (auto* asked : {&prefetched_at_, &quick_, &slow_})
    std::erase_if(*asked, is_its);
  if (auto lent = lent_.find(process); lent != lent_.end()) {
    lent_total_ -= lent->second.items;
    lent_.erase(lent);
  }
  Replies replies;
  serve_waiting(replies);
  return replies;
}

std::uint64_t Channel::count_untaken() const {
  auto count = items_.size() + puts_.size();
  for (auto& [who, handed] : outstanding_)
    count += handed.left;
  return count;
}

void Channel::release_taken(std::uint64_t process, const std::string& job) {
  auto [count, items] = taken_.take_all(process);
  if (count == 0 || dropped_)
    return;
  std::uint64_t lost = 0;
  if (limits_.redeliver) {
    for (auto& [key, item] : items)
      if (limits_.max_redeliveries >= 0 &&
          item.redeliveries >= limits_.max_redeliveries) {
        ++lost;
      } else {
        ++item.redeliveries;
        store(std::move(item));
        recall_all_ = true; // Nothing that a consumer has prefetched goes before it.
      }
  } else {
    // Others may have finished what this process had passed on to them.
    apply_recorded();
    auto untaken = count_untaken();
    lost = std::min(count, unfinished_ - std::min(unfinished_, untaken));
  }
  unfinished_ -= lost;
  if (lost > 0)
    lost_.add(process, job, lost);
  losers_.insert(process);
  if (losers_.size() > max_losers)
    losers_.erase(losers_.begin());
}

} // namespace fiber::actors
