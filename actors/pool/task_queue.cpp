// SPDX-License-Identifier: Apache-2.0
#include "actors/pool/task_queue.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace fiber::actors {

void TaskQueue::add(TaskRange range) {
  size_ += range.size();
  if (range.size() > 0)
    waiting_.push_back(std::move(range));
}

void TaskQueue::put_back(TaskRange range) {
  size_ += range.size();
  if (range.size() > 0)
    waiting_.push_front(std::move(range));
}

void TaskQueue::suspect(TaskRange task) {
  suspects_.push_back(std::move(task));
}

TaskRange TaskQueue::take(std::size_t most, std::size_t max_bytes) {
  auto& front = waiting_.front();
  auto& batch = *front.batch;
  auto n = std::min(most, front.size());
  // The ends only grow, so a binary search finds the last one within the limit.
  auto begin = batch.ends.begin() + front.from;
  auto limit = batch.begin_of(front.from) + max_bytes;
  auto fitting =
    std::upper_bound(begin, begin + static_cast<std::ptrdiff_t>(n), limit) - begin;
  n = std::max<std::size_t>(1, static_cast<std::size_t>(fitting));
  auto taken = front.split(n);
  size_ -= n;
  if (front.size() == 0)
    waiting_.pop_front();
  return taken;
}

TaskRange TaskQueue::take_suspect() {
  auto task = std::move(suspects_.front());
  suspects_.pop_front();
  return task;
}

std::vector<TaskRange> TaskQueue::remove(std::optional<std::uint64_t> call) {
  std::vector<TaskRange> removed;
  for (auto* list : {&suspects_, &waiting_}) {
    auto gone =
      std::stable_partition(list->begin(), list->end(), [&](const TaskRange& range) {
        return call && range.call() != *call;
      });
    std::move(gone, list->end(), std::back_inserter(removed));
    list->erase(gone, list->end());
  }
  size_ = 0;
  for (auto& range : waiting_)
    size_ += range.size();
  return removed;
}

} // namespace fiber::actors
