// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include <caf/all.hpp>

#include "actors/pool/pool_state.hpp"
#include "actors/pool/pool_trace.hpp"

// Copies of stragglers, tasks that run for much longer than others did
// (MapOptions::speculate). Both runs are of one task: the first result counts, and the
// worker of the other run is told to stop. A run that is handed back or lost while the
// other run continues costs no retry.

namespace fiber::actors {
namespace {

using std::chrono::nanoseconds;

/// Tasks that must have ended before one can be called a straggler.
constexpr std::uint64_t min_samples = 3;
/// Shorter delays are ordinary latency: results are held back for a while, and messages
/// queue.
constexpr std::chrono::milliseconds min_slow{5};
/// Shortest and longest interval between two looks for stragglers.
constexpr std::chrono::milliseconds min_wait{1}, max_wait{20};

} // namespace

void PoolState::Pace::remember(const TaskResults& results) {
  if (!durations)
    durations = std::make_unique<DurationCounts>();
  durations->add(results.busy_ns, results.longest_ns, results.results.size());
}

/// Gives idle slots a copy of tasks that run for too long.
void PoolState::speculate() {
  if (speculative_calls == 0 || !queue.empty() || queue.suspects() > 0 || idle.empty() ||
      ending || settings.nested || settings.max_retries == 0)
    return;
  const Call* last = nullptr; // Neighbouring slots often run the same call.
  std::optional<nanoseconds> slow;
  std::optional<nanoseconds> next;
  auto now = self->clock().now();
  for (auto& [incarnation, node] : nodes)
    for (std::size_t i = 0; i < node.slots.size(); ++i) {
      auto& slot = node.slots[i];
      if (slot.outstanding() == 0 || slot.call().speculate <= 0)
        continue;
      if (std::exchange(last, &slot.call()) != &slot.call())
        slow = slow_after(slot.call());
      if (!slow)
        continue;
      auto due = *slow - (now - slot.last_progress);
      // More tasks may wait behind the copied one if the node does not hand them back.
      if (due > nanoseconds(0) || (start_copy(node, i) && slot.recall_pending))
        next = std::min(next.value_or(due), due);
    }
  if (next && !idle.empty() && !std::exchange(speculate_pending, true))
    self->delayed_send(self, std::clamp<nanoseconds>(*next, min_wait, max_wait),
                       SpeculateTick{});
}

/// Returns how long a task of this call runs before it is slow; nothing if too few have
/// ended to know.
std::optional<nanoseconds> PoolState::slow_after(const Call& call) {
  auto& known = pace(call).durations;
  if (!known || known->total() < min_samples)
    return std::nullopt;
  constexpr double most = 1e18; // Fits into nanoseconds.
  auto ns = call.speculate * static_cast<double>(known->percentile_ns(0.5));
  // Results are held back for a quarter of the prefetch time, sometimes for half of it.
  return std::max<nanoseconds>(
    {nanoseconds(static_cast<std::int64_t>(std::min(ns, most))), min_slow,
     prefetch_time()});
}

/// Copies the running task of this slot to an idle slot of another node; false if that is
/// not possible. Tasks that wait behind it move when the node hands them back; if the
/// node does not answer the recall, they are copied too.
bool PoolState::start_copy(Node& node, std::size_t slot) {
  auto free = idle_slot_elsewhere(node);
  if (free == idle.end())
    return false;
  auto* first = node.slots[slot].single_out_uncopied();
  if (first == nullptr || first->tasks.batch->call->speculate <= 0 ||
      first->tasks.charges > 0 || calls[first->tasks.call()].cancelled)
    return false;
  if (!node.slots[slot].is_oldest(*first) && !node.slots[slot].recall_pending)
    return false;
  auto ref = *free;
  idle.erase(free);
  auto& other = nodes.at(ref.incarnation);
  auto twin = std::make_shared<Twin>();
  twin->attempt = first->tasks.attempt + 1;
  first->tasks.twin = twin;
  auto task = first->tasks;
  task.attempt = twin->attempt;
  if (settings.trace) {
    PoolTrace::queue(task);
    settings.trace->copy(other.first_rank + ref.slot, node.first_rank + slot, task);
  }
  NodeFrame frame;
  append_run(other, ref.slot, std::move(task), frame);
  flush(other, frame);
  twin->places = {
    Twin::Place{node.incarnation, slot, first->first_seq},
    Twin::Place{ref.incarnation, ref.slot, other.slots[ref.slot].last_seq()}};
  ++totals.speculated;
  return true;
}

/// Finds an idle slot of another node: this whole job may be slow, and is killed if the
/// losing copy does not stop.
std::deque<PoolState::SlotRef>::iterator
PoolState::idle_slot_elsewhere(const Node& node) {
  return std::find_if(idle.begin(), idle.end(), [&](const SlotRef& ref) {
    auto found = nodes.find(ref.incarnation);
    return ref.incarnation != node.incarnation && found != nodes.end() &&
           takes_tasks(found->second) && found->second.slots[ref.slot].outstanding() == 0;
  });
}

/// A worker no longer has this task. Returns true if another copy has ended it or still
/// runs; else the task is an ordinary one again.
bool PoolState::other_copy_decides(TaskRange& task) {
  auto twin = task.twin;
  if (!twin)
    return false;
  if (twin->ended || --twin->copies_left > 0)
    return true;
  task.twin.reset();
  task.attempt = std::max(task.attempt, twin->attempt);
  return false;
}

bool PoolState::has_copy(const TaskRange& task) {
  return task.twin && task.twin->copies_left > 1;
}

/// Stops the losing copies of a task that has ended.
void PoolState::stop_copies(const Twin& twin) {
  for (auto& [incarnation, slot, seq] : twin.places) {
    auto found = nodes.find(incarnation);
    if (found == nodes.end() || !found->second.slots[slot].overtake(seq))
      continue;
    NodeFrame frame;
    Writer writer(frame.head);
    write(writer, StopTask{static_cast<std::uint32_t>(slot), seq});
    flush(found->second, frame);
    kill_after_grace(found->second, slot, seq);
  }
}

} // namespace fiber::actors
