// SPDX-License-Identifier: Apache-2.0
#include "actors/queue/taken_items.hpp"

#include <algorithm>

namespace fiber::actors {

// -- what is taken --

std::uint64_t TakenItems::count(std::uint64_t process) const {
  auto known = consumers_.find(process);
  return known == consumers_.end() ? 0 : known->second.count_;
}

bool TakenItems::may_come_back(std::uint64_t process, std::uint64_t home,
                               int max_redeliveries) const {
  constexpr std::uint64_t driver = 0;
  auto comes_back = [&](auto& entry) {
    return max_redeliveries < 0 || entry.item.redeliveries < max_redeliveries;
  };
  return std::ranges::any_of(consumers_, [&](auto& each) {
    auto& [consumer, taken] = each;
    return consumer != process && consumer != home && consumer != driver &&
           std::ranges::any_of(taken.entries_, comes_back);
  });
}

bool TakenItems::finish(std::uint64_t process, const std::optional<TakenKey>& key) {
  auto known = consumers_.find(process);
  if (known == consumers_.end() || known->second.count_ == 0)
    return false;
  auto& [count, entries] = known->second;
  if (!entries.empty()) {
    auto at = key ? std::ranges::find(entries, *key, &Entry::key) : entries.begin();
    if (at == entries.end())
      return false;
    entries.erase(at);
  }
  --count;
  return true;
}

std::pair<std::uint64_t, std::deque<TakenItems::Entry>>
TakenItems::take_all(std::uint64_t process) {
  auto known = consumers_.find(process);
  if (known == consumers_.end())
    return {};
  auto consumer = std::move(known->second);
  consumers_.erase(known);
  return {consumer.count_, std::move(consumer.entries_)};
}

// -- what is lost --

void LostRecord::add(std::uint64_t process, const std::string& job, std::uint64_t items) {
  items_ += items;
  last_.push_back(
    {job.empty() ? "process " + std::to_string(process) : job, items, items_});
  if (last_.size() > max_named)
    last_.pop_front();
}

std::shared_ptr<LostItems> LostRecord::untold(std::uint64_t process) const {
  auto known = told_.find(process);
  auto before = known == told_.end() ? 0 : known->second;
  if (before == items_)
    return nullptr;
  auto lost = std::make_shared<LostItems>();
  lost->items = items_ - before;
  for (auto& loss : last_)
    if (loss.upto > before)
      lost->jobs.emplace_back(loss.job, loss.items);
  return lost;
}

} // namespace fiber::actors
