// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <sstream>
#include <utility>

#include <caf/all.hpp>

#include "actors/pool/pool_state.hpp"
#include "actors/pool/pool_stream.hpp"
#include "actors/pool/pool_trace.hpp"
#include "actors/roster/roster.hpp"
#include "base/what.hpp"
#include "fiber/detail/classic_locale.hpp"

// How results arrive, and how tasks and calls end.

namespace fiber::actors {
namespace {

/// Weight of the mean duration in tasks: enough to be steady, few enough to follow a
/// change.
constexpr double max_weight = 64;

} // namespace

void PoolState::results(NodeResults& news) {
  auto& frame = news.results;
  totals.bytes_received += frame.bytes.size();
  auto found = nodes.find(news.incarnation);
  if (found == nodes.end() || frame.slot >= found->second.slots.size()) {
    totals.late += frame.results.size();
    return;
  }
  auto& node = found->second;
  auto& slot = node.slots[frame.slot];
  if (slot.outstanding() > 0)
    note_durations(slot, frame);
  slot.last_progress = self->clock().now();
  for (std::size_t i = 0; i < frame.results.size(); ++i)
    take_result(node, slot, frame, i);
  if (losses_counted && !frame.results.empty()) {
    losses_counted = false;
    caf::anon_send(supervisor, ForgiveFailures{});
  }
  free_reserved(node);
  // Sends new tasks before it delivers results, since the worker waits for them.
  if (takes_tasks(node) && queue.suspects() == 0)
    fill(node, frame.slot);
  deliver_completions();
  if (slot.outstanding() == 0)
    note_idle(node, frame.slot);
  retire_if_empty(node);
  if (queue.empty() || queue.suspects() > 0 || !idle.empty())
    dispatch();
}

/// Updates the mean duration of the call's tasks and the pool's percentiles.
void PoolState::note_durations(const Slot& slot, const TaskResults& frame) {
  auto& known = pace(slot.call());
  auto n = static_cast<double>(frame.results.size());
  auto busy = static_cast<double>(frame.busy_ns);
  known.mean_ns = known.weight > 0
                    ? (known.mean_ns * known.weight + busy) / (known.weight + n)
                    : busy / n;
  known.weight = std::min(max_weight, known.weight + n);
  durations.add(frame.busy_ns, frame.longest_ns, frame.results.size());
  if (slot.call().speculate > 0)
    known.remember(frame);
}

/// Ends or retries the task of the i-th result, unless the result is late.
void PoolState::take_result(const Node& node, Slot& slot, const TaskResults& frame,
                            std::size_t i) {
  auto& result = frame.results[i];
  auto seq = frame.first_seq + i;
  auto task = settings.nested ? slot.finish_nested(seq) : slot.finish(seq);
  if (!task) {
    ++totals.late;
    return;
  }
  auto* stream = settings.roster ? settings.roster->stream() : nullptr;
  if (stream != nullptr && i == 0)
    show_results(*stream, settings.name, node, *task, frame);
  if (settings.trace)
    settings.trace->take(node.first_rank + frame.slot, *task, frame, i);
  if (task->ended) {
    totals.late += task->overtaken ? 1 : 0;
    return;
  }
  if (result.status == TaskResult::Status::overdue) {
    if (!other_copy_decides(*task))
      finish(*task, {{}, timeout_error(*task)});
    return;
  }
  auto bytes = frame.bytes.slice(result.offset, result.length);
  if (result.status == TaskResult::Status::value) {
    finish(*task, {std::move(bytes), nullptr});
    return;
  }
  auto runs = task->twin ? std::max(task->attempt, task->twin->attempt) : task->attempt;
  if (retry_exception(*task, runs))
    return;
  Reader reader(bytes.bytes());
  finish(*task, {{},
                 std::make_exception_ptr(RemoteError(read_failure(reader),
                                                     task->batch->first + task->from,
                                                     static_cast<int>(runs), node.job))});
}

void PoolState::handed_back(const NodeHandedBack& news) {
  auto found = nodes.find(news.incarnation);
  if (found == nodes.end() || news.what.slot >= found->second.slots.size())
    return;
  auto& node = found->second;
  auto& slot = node.slots[news.what.slot];
  slot.recall_pending = false;
  auto back = slot.hand_back(news.what.from_seq, news.what.to_seq);
  if (std::exchange(slot.recall_rest, false))
    recall(node, news.what.slot, UINT32_MAX);
  for (auto tasks = back.rbegin(); tasks != back.rend(); ++tasks) {
    if (node.tasks_left != SIZE_MAX)
      node.tasks_left += tasks->size();
    requeue(std::move(*tasks), false);
  }
  deliver_completions();
  free_reserved(node);
  if (slot.outstanding() == 0)
    note_idle(node, news.what.slot);
  retire_if_empty(node);
  saturated = false;
  dispatch();
}

std::exception_ptr PoolState::timeout_error(const TaskRange& task) const {
  auto limit = std::chrono::duration<double>(settings.task_timeout).count();
  fiber::detail::Classic<std::ostringstream> text;
  text << "task " << task.batch->first + task.from << " ran for longer than " << limit
       << " s (task_timeout)";
  return std::make_exception_ptr(TimeoutError(text.str()));
}

void PoolState::finish(const TaskRange& task, detail::RawOutcome outcome) {
  if (task.ended)
    return;
  if (task.twin) {
    if (std::exchange(task.twin->ended, true))
      return;
    if (!calls[task.call()].cancelled) // Cancelling the call stops all copies.
      stop_copies(*task.twin);
  }
  if (completed_call != task.batch->call) {
    deliver_completions();
    completed_call = task.batch->call;
  }
  ++(outcome.error ? totals.failed : totals.done);
  if (outcome.error && settings.roster)
    note_failure(task, outcome.error);
  completions.push_back({task.batch->first + task.from, std::move(outcome)});
}

/// Tells the roster of a task that failed. Tasks that were cancelled are no failures.
void PoolState::note_failure(const TaskRange& task, const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const Cancelled&) {
  } catch (const Closed&) {
  } catch (const WorkerLost& what) { // Its own what() looks names up, which takes long.
    settings.roster->task_failed(settings.name, task.batch->first + task.from,
                                 what.Error::what());
  } catch (const std::exception& what) {
    settings.roster->task_failed(settings.name, task.batch->first + task.from,
                                 what_of(what));
  } catch (...) {
    settings.roster->task_failed(settings.name, task.batch->first + task.from,
                                 "an unknown exception");
  }
}

void PoolState::fail(const TaskRange& tasks, const std::exception_ptr& error) {
  auto rest = tasks;
  while (rest.size() > 0)
    finish(rest.split(1), {{}, error});
}

void PoolState::fail_all(const std::exception_ptr& error) {
  auto all = queue.remove(std::nullopt);
  for (auto& [incarnation, node] : nodes)
    for (std::size_t i = 0; i < node.slots.size(); ++i) {
      auto left = node.slots[i].take_all();
      if (settings.trace)
        settings.trace->drop(node, i, left, TraceSpan::Outcome::cancelled);
      for (auto& range : left)
        all.push_back(std::move(range.tasks));
    }
  // After all slots are empty, so that fail() finds no other copy that it would stop.
  for (auto& tasks : all)
    fail(tasks, error);
  deliver_completions();
}

/// Delivers the completions that finish() has gathered.
void PoolState::deliver_completions() {
  if (!completed_call)
    return;
  auto call = std::exchange(completed_call, nullptr);
  auto ended = std::exchange(completions, {});
  calls[call->id].ended += ended.size();
  call->sink->deliver(std::move(ended));
  drop_call_if_over(call->id);
}

void PoolState::drop_call_if_over(std::uint64_t id) {
  auto record = calls.find(id);
  if (record == calls.end() || !record->second.all_submitted ||
      record->second.ended < record->second.submitted)
    return;
  if (const auto& call = record->second.call) {
    note_ended(*call);
    if (call->speculate > 0)
      --speculative_calls;
  }
  calls.erase(record);
  stop_if_closed();
}

} // namespace fiber::actors
