// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include <caf/all.hpp>

#include "actors/pool/pool_state.hpp"
#include "actors/pool/pool_trace.hpp"

// Which slot gets which tasks, and when. The pool prefetches: a slot holds as many tasks
// as keep it busy until the next ones arrive, and gets more as it answers. Tasks that
// wait behind a slow one are stolen, that is, recalled as soon as another slot is idle.
//
// A suspect is a task that was charged with a lost worker. It runs alone: in a node that
// is reserved for it and runs nothing else meanwhile.

namespace fiber::actors {
namespace {

/// The least prefetch time. It is many times the 50 to 100 us that results and new tasks
/// travel, and so short that no task waits for long in a slot.
constexpr std::chrono::microseconds min_prefetch_time{2000};
/// The prefetch time is at least this much for each worker. A message to a worker and one
/// with its results cost driver and worker up to 100 us, so all messages together take a
/// part of the processors that does not grow with the number of workers.
constexpr std::chrono::microseconds prefetch_time_per_worker{400};
constexpr std::size_t max_prefetch_tasks = 1024;
constexpr std::size_t max_prefetch_bytes = 1024 * 1024;
/// A slot that has less work than this ahead is not worth a steal.
constexpr double min_steal_ns = 3e5;
constexpr std::chrono::milliseconds steal_interval{5};
/// The time between two looks at all slots for one to steal from, for each of them.
constexpr std::chrono::microseconds steal_pause_per_slot{1};
/// The longest time until nodes are told that a call has ended. If the next call begins
/// before, the notice travels with its tasks, so that no node is woken only for it.
constexpr std::chrono::milliseconds close_interval{50};

std::size_t bytes_per_task(const TaskRange& tasks) {
  auto& batch = *tasks.batch;
  return (batch.ends[tasks.to - 1] - batch.begin_of(tasks.from)) / tasks.size();
}

} // namespace

bool PoolState::takes_tasks(const Node& node) const {
  return !node.draining && !node.reserved && node.tasks_left > 0;
}

void PoolState::note_idle(Node& node, std::size_t slot) {
  idle.push_back({node.incarnation, slot});
}

/// Returns how long the tasks that a slot prefetches should run.
std::chrono::microseconds PoolState::prefetch_time() const {
  return std::max(min_prefetch_time,
                  std::chrono::microseconds(prefetch_time_per_worker * slots_up));
}

/// Returns the least work, in run time, that is worth a message of its own. It is 0 with
/// few workers.
double PoolState::min_send_ns() const {
  return 1e3 * static_cast<double>((prefetch_time() - min_prefetch_time).count()) / 8;
}

/// Returns how many tasks of this call a slot may hold.
std::size_t PoolState::prefetch_limit(const Call& call, std::size_t bytes) {
  if (settings.nested)
    return max_prefetch_tasks;
  auto chunk = std::max<std::size_t>(1, call.chunksize);
  auto mean = pace(call).mean_ns;
  // Without retries nothing is prefetched: a task that may have started must not rerun.
  if (settings.max_retries == 0 || mean < 0)
    return chunk;
  auto tasks =
    1 + static_cast<std::size_t>(std::ceil(
          1e3 * static_cast<double>(prefetch_time().count()) / std::max(mean, 1.0)));
  tasks = std::min(tasks, max_prefetch_bytes / std::max<std::size_t>(1, bytes));
  tasks = std::clamp<std::size_t>(tasks, 2, max_prefetch_tasks);
  return (tasks + chunk - 1) / chunk * chunk; // Chunks stay together.
}

/// Notes whether more tasks follow soon. Idle slots wait for these tasks instead of
/// stealing tasks from other slots.
void PoolState::note_to_come(std::size_t tasks) {
  no_steal_before = self->clock().now();
  if (tasks > 0)
    no_steal_before += steal_interval;
}

void PoolState::dispatch() {
  place_suspects();
  while (!queue.empty() && !idle.empty()) {
    auto ref = idle.front();
    idle.pop_front();
    auto node = nodes.find(ref.incarnation);
    if (node != nodes.end() && takes_tasks(node->second) &&
        node->second.slots[ref.slot].outstanding() == 0)
      fill(node->second, ref.slot);
  }
  if (queue.empty()) {
    saturated = false;
    steal();
    return;
  }
  grow();
  if (saturated)
    return;
  for (auto& [incarnation, node] : nodes)
    for (std::size_t i = 0; i < node.slots.size() && takes_tasks(node); ++i)
      fill(node, i);
  saturated = !queue.empty();
}

/// Fills a slot up to its prefetch limit.
void PoolState::fill(Node& node, std::size_t slot) {
  if (queue.empty() || !takes_tasks(node))
    return;
  auto& call = *queue.next().batch->call;
  auto may_have = prefetch_limit(call, bytes_per_task(queue.next()));
  auto has = node.slots[slot].outstanding();
  // Waits until the slot is half empty, so that frames carry many tasks.
  if (has >= may_have || (has > may_have / 2 && !settings.nested))
    return;
  auto most = may_have - has;
  if (!settings.nested) {
    // Near the end of a call each slot gets half of an even share. If half a share is too
    // little for a message, a slot that will soon be idle gets enough for a message, and
    // all other slots get no tasks.
    auto share = (queue.size() + calls[call.id].to_come) / slots_up;
    auto worth =
      static_cast<std::size_t>(min_send_ns() / std::max(pace(call).mean_ns, 1.0));
    if (share / 2 < worth && has > worth / 2)
      return;
    auto least = std::min(most, std::max<std::size_t>(1, call.chunksize));
    most = std::clamp(std::max(share / 2, worth), least, most);
  }
  NodeFrame frame;
  while (most > 0 && !queue.empty() && takes_tasks(node)) {
    auto limit = std::max(max_prefetch_bytes / 4, bytes_per_task(queue.next()));
    auto tasks = queue.take(std::min(most, node.tasks_left), limit);
    most -= tasks.size();
    append_run(node, slot, std::move(tasks), frame);
    if (!frame.body.empty())
      flush(node, frame);
  }
  flush(node, frame);
}

/// Gives each suspect an idle node, and reserves busy nodes for the others.
void PoolState::place_suspects() {
  if (queue.suspects() == 0)
    return;
  std::size_t reserved = 0;
  for (auto& [incarnation, node] : nodes) {
    if (queue.suspects() == 0)
      return;
    if (node.draining || node.tasks_left == 0)
      continue;
    if (node.idle()) {
      node.reserved = true;
      NodeFrame frame;
      append_run(node, 0, queue.take_suspect(), frame);
      flush(node, frame);
    } else if (node.reserved) {
      ++reserved;
    }
  }
  // A node that runs a suspect stays reserved, and takes the next one when it is done.
  for (auto& [incarnation, node] : nodes) {
    if (reserved >= queue.suspects())
      return;
    if (node.draining || node.reserved || node.tasks_left == 0)
      continue;
    node.reserved = true;
    ++reserved;
    for (std::size_t i = 0; i < node.slots.size(); ++i)
      if (node.slots[i].outstanding() > 1)
        recall(node, i, UINT32_MAX);
  }
}

/// Ends the reservation of a node when its suspect has ended.
void PoolState::free_reserved(Node& node) {
  if (!node.reserved || !node.idle())
    return;
  node.reserved = false;
  saturated = false;
  for (std::size_t i = 0; i < node.slots.size(); ++i)
    note_idle(node, i);
}

void PoolState::append_run(Node& node, std::size_t slot, TaskRange tasks,
                           NodeFrame& frame) {
  auto& batch = *tasks.batch;
  auto& call = *batch.call;
  if (node.opened.count(call.id) == 0) {
    OpenCall open{call.id, call.single, call.callable.open(), {}, call.callable.state()};
    if (frame.append(open, open.state))
      flush(node, frame);
    if (!call.single)
      node.opened.insert(call.id);
  }
  RunTasks run;
  run.slot = static_cast<std::uint32_t>(slot);
  run.call = call.id;
  run.first_index = batch.first + tasks.from;
  run.attempt = tasks.attempt;
  run.hold_us = static_cast<std::uint32_t>(prefetch_time().count() / 4);
  run.lengths.reserve(tasks.size());
  auto begin = batch.begin_of(tasks.from);
  for (auto i = tasks.from; i < tasks.to; ++i)
    run.lengths.push_back(batch.ends[i] - batch.begin_of(i));
  auto arguments = batch.arguments.slice(begin, batch.ends[tasks.to - 1] - begin);
  auto& target = node.slots[slot];
  target.last_progress = self->clock().now();
  if (node.tasks_left != SIZE_MAX)
    node.tasks_left -= tasks.size();
  if (settings.trace)
    settings.trace->send(node.first_rank + slot, tasks);
  run.first_seq = target.assign(std::move(tasks));
  nothing_ahead &= target.outstanding() < 2;
  frame.append(run, arguments);
}

/// Appends the notices of calls that have ended.
void PoolState::append_ended_calls(Node& node, NodeFrame& frame) {
  Writer writer(frame.head);
  for (auto call : std::exchange(node.ended_calls, {}))
    write(writer, Op::close, call);
}

/// Sends the frame, with the notices of ended calls behind its tasks. So a shared value
/// that an ended call and the next one hold stays in the job.
void PoolState::flush(Node& node, NodeFrame& frame) {
  if (frame.head.empty())
    return;
  if (frame.body.empty())
    append_ended_calls(node, frame);
  totals.bytes_sent += frame.head.size() + frame.body.size();
  self->send(node.link, std::exchange(frame, {}));
}

/// Notes that nodes must drop the callable of a call that has ended. They are told within
/// close_interval. If the callable is large they are told at once, since the next one may
/// be large, too.
void PoolState::note_ended(const Call& call) {
  for (auto& [incarnation, node] : nodes)
    if (node.opened.erase(call.id) > 0)
      node.ended_calls.push_back(call.id);
  if (ending)
    return;
  if (call.callable.state().size() >= own_message_bytes)
    close_ended_calls();
  else if (!std::exchange(close_pending, true))
    self->delayed_send(self, close_interval, CloseTick{});
}

/// Sends the notices of ended calls that no other frame has carried.
void PoolState::close_ended_calls() {
  for (auto& [incarnation, node] : nodes) {
    NodeFrame frame;
    append_ended_calls(node, frame);
    flush(node, frame);
  }
}

void PoolState::recall(Node& node, std::size_t slot, std::size_t most) {
  auto& target = node.slots[slot];
  if (target.outstanding() == 0)
    return;
  if (target.recall_pending) {
    target.recall_rest |= most == UINT32_MAX;
    return;
  }
  target.recall_pending = true;
  NodeFrame frame;
  Writer writer(frame.head);
  write(writer,
        Recall{static_cast<std::uint32_t>(slot),
               static_cast<std::uint32_t>(std::min<std::size_t>(most, UINT32_MAX))});
  flush(node, frame);
}

/// Calls steal() after `delay`, unless it is to be called anyway.
void PoolState::steal_later(std::chrono::nanoseconds delay) {
  if (!std::exchange(steal_pending, true))
    self->delayed_send(self, delay, StealTick{});
}

/// Steals after the delay of steal_later(), even if more tasks keep coming.
void PoolState::steal_tick() {
  steal_pending = false;
  no_steal_before = {};
  steal();
}

/// Work stealing: if the queue is empty, recalls, for each idle slot, half the tasks of a
/// slot that has much work ahead.
void PoolState::steal() {
  if (!queue.empty() || idle.empty() || ending)
    return;
  // No slot has tasks to steal. The list of idle slots is tidied only if it has more
  // entries than there are slots.
  if (nothing_ahead && idle.size() <= slots_up) {
    speculate();
    return;
  }
  auto now = self->clock().now();
  if (now < no_steal_before) {
    steal_later(no_steal_before - now);
    return;
  }
  std::erase_if(idle, [&](const SlotRef& ref) {
    auto node = nodes.find(ref.incarnation);
    return node == nodes.end() || !takes_tasks(node->second) ||
           node->second.slots[ref.slot].outstanding() > 0;
  });
  if (idle.empty())
    return;
  auto takers = idle.size();
  auto later = false;
  no_steal_before = now + slots_up * steal_pause_per_slot;
  nothing_ahead = true;
  for (auto& [incarnation, node] : nodes) {
    for (std::size_t i = 0; i < node.slots.size(); ++i) {
      auto& slot = node.slots[i];
      nothing_ahead &= slot.outstanding() < 2;
      if (slot.recall_pending && takers > 0)
        --takers;
      if (slot.recall_pending || slot.outstanding() < 2)
        continue;
      later = true;
      auto mean = pace(slot.call()).mean_ns;
      auto ahead = static_cast<double>(slot.outstanding() - 1) * std::max(mean, 0.0);
      if (takers > 0 && (ahead > std::max(min_steal_ns, min_send_ns()) ||
                         now - slot.last_progress > prefetch_time() / 2)) {
        recall(node, i, slot.outstanding() / 2);
        --takers;
      }
    }
  }
  if (later)
    steal_later(steal_interval);
  speculate();
}

} // namespace fiber::actors
