// SPDX-License-Identifier: Apache-2.0
#include "actors/pool/running_table.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

namespace fiber::actors {

std::uint64_t Slot::assign(TaskRange tasks) {
  auto first = next_seq_;
  next_seq_ += tasks.size();
  outstanding_ += tasks.size();
  running_.push_back({std::move(tasks), first});
  return first;
}

std::optional<TaskRange> Slot::finish(std::uint64_t seq) {
  if (running_.empty() || running_.front().first_seq != seq)
    return std::nullopt;
  return finish_nested(seq);
}

Slot::Place Slot::find(std::uint64_t seq) {
  return std::find_if(running_.begin(), running_.end(), [&](const RunningRange& range) {
    return seq >= range.first_seq && seq < range.first_seq + range.tasks.size();
  });
}

std::optional<TaskRange> Slot::finish_nested(std::uint64_t seq) {
  auto found = find(seq);
  if (found == running_.end())
    return std::nullopt;
  RunningRange before{found->tasks.split(seq - found->first_seq), found->first_seq};
  auto task = found->tasks.split(1);
  found->first_seq = seq + 1;
  --outstanding_;
  if (found->tasks.size() == 0)
    found = running_.erase(found);
  if (before.tasks.size() > 0)
    running_.insert(found, std::move(before));
  return task;
}

std::vector<TaskRange> Slot::hand_back(std::uint64_t from_seq, std::uint64_t to_seq) {
  std::vector<TaskRange> back;
  std::deque<RunningRange> staying;
  for (auto& range : running_) {
    auto cut_before = [&](std::uint64_t seq) {
      auto end = range.first_seq + range.tasks.size();
      auto n = std::clamp(seq, range.first_seq, end) - range.first_seq;
      RunningRange front{range.tasks.split(n), range.first_seq};
      range.first_seq += n;
      return front;
    };
    auto before = cut_before(from_seq);
    auto taken = cut_before(to_seq);
    outstanding_ -= taken.tasks.size();
    if (before.tasks.size() > 0)
      staying.push_back(std::move(before));
    if (taken.tasks.size() > 0)
      back.push_back(std::move(taken.tasks));
    if (range.tasks.size() > 0)
      staying.push_back(std::move(range));
  }
  running_ = std::move(staying);
  return back;
}

Slot::Place Slot::single_out(Place range, std::uint64_t seq) {
  RunningRange before{range->tasks.split(seq - range->first_seq), range->first_seq};
  RunningRange task{range->tasks.split(1), seq};
  range->first_seq = seq + 1;
  if (range->tasks.size() == 0)
    range = running_.erase(range);
  range = running_.insert(range, std::move(task));
  return before.tasks.size() > 0 ? running_.insert(range, std::move(before)) + 1 : range;
}

std::optional<TaskRange> Slot::abandon(std::uint64_t seq) {
  auto found = find(seq);
  if (found == running_.end() || found->tasks.ended)
    return std::nullopt;
  found = single_out(found, seq);
  auto open = found->tasks;
  found->tasks.ended = true;
  return open;
}

bool Slot::overtake(std::uint64_t seq) {
  if (!abandon(seq))
    return false;
  find(seq)->tasks.overtaken = true;
  return true;
}

std::vector<TaskRange> Slot::abandon_call(std::uint64_t call) {
  std::vector<TaskRange> open;
  for (auto& [tasks, first_seq] : running_)
    if (tasks.call() == call && !tasks.ended) {
      open.push_back(tasks);
      tasks.ended = true;
    }
  return open;
}

bool Slot::has_abandoned(std::uint64_t seq) const {
  return std::any_of(running_.begin(), running_.end(), [&](auto& range) {
    return range.tasks.ended && range.first_seq <= seq;
  });
}

RunningRange* Slot::single_out_uncopied() {
  auto found = std::find_if(running_.begin(), running_.end(), [](auto& range) {
    return !range.tasks.ended && !range.tasks.twin;
  });
  return found != running_.end() ? &*single_out(found, found->first_seq) : nullptr;
}

std::deque<RunningRange> Slot::take_all() {
  outstanding_ = 0;
  return std::exchange(running_, {});
}

bool Slot::holds(std::uint64_t call) const {
  return std::any_of(running_.begin(), running_.end(),
                     [&](auto& range) { return range.tasks.call() == call; });
}

bool Node::idle() const {
  return outstanding() == 0;
}

std::size_t Node::outstanding() const {
  std::size_t sum = 0;
  for (auto& slot : slots)
    sum += slot.outstanding();
  return sum;
}

std::size_t Node::running() const {
  return static_cast<std::size_t>(
    std::ranges::count_if(slots, [](auto& slot) { return slot.outstanding() > 0; }));
}

std::uint64_t Node::started(std::size_t slot) const {
  return page ? SlotProgress::started(page->data(), slot) : 0;
}

void SlotProgress::announce(std::byte* page, std::size_t slot, std::uint64_t seq) {
  std::atomic_ref(*reinterpret_cast<std::uint64_t*>(page + slot * stride))
    .store(seq, std::memory_order_release);
}

std::uint64_t SlotProgress::started(const std::byte* page, std::size_t slot) {
  auto* place = const_cast<std::byte*>(page) + slot * stride;
  return std::atomic_ref(*reinterpret_cast<std::uint64_t*>(place))
    .load(std::memory_order_acquire);
}

} // namespace fiber::actors
