// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <utility>
#include <vector>

#include <caf/all.hpp>

#include "actors/crash/stack_symbols.hpp"
#include "actors/pool/pool_state.hpp"
#include "actors/pool/pool_stream.hpp"
#include "actors/pool/pool_trace.hpp"
#include "actors/roster/roster.hpp"

// Which tasks of a lost or failed worker are retried. When a worker is lost, the task
// that ran is charged with the loss. A charged task is a suspect: it is retried alone in
// a node, so that no other task can be blamed for its next loss.

namespace fiber::actors {

/// Puts tasks that a worker had back into the queue, unless they have ended or were
/// cancelled. A task whose other copy still runs is neither requeued nor charged: the
/// loss of that copy will charge the task, and two losses at the same time must not
/// charge it twice.
void PoolState::requeue(TaskRange tasks, bool ran) {
  if (tasks.ended || other_copy_decides(tasks))
    return;
  if (calls[tasks.call()].cancelled || ending) {
    fail(tasks, std::make_exception_ptr(Cancelled("cancelled before it ended")));
    return;
  }
  if (settings.trace)
    PoolTrace::queue(tasks);
  if (ran) {
    ++tasks.attempt;
    totals.retries += tasks.size();
    if (settings.chaos_counts)
      settings.chaos_counts->retries += tasks.size();
  }
  if (tasks.charges > 0)
    queue.suspect(std::move(tasks));
  else
    queue.put_back(std::move(tasks));
}

/// Retries a task that threw, if the pool retries exceptions and a run or a copy is left.
/// `runs`: how often the task has run.
bool PoolState::retry_exception(const TaskRange& task, std::uint32_t runs) {
  auto runs_left =
    settings.max_retries < 0 || runs <= static_cast<std::uint32_t>(settings.max_retries);
  if (!settings.retry_exceptions || (!runs_left && !has_copy(task)))
    return false;
  requeue(task, true);
  return true;
}

/// Requeues or ends every task of a lost node. If `blame`, charges one task of each slot:
/// the one that the slot last announced as started, else its first unanswered one.
/// `charged` is set if any task was.
void PoolState::recover_tasks(Node& node, const NodeLost& lost, bool blame,
                              bool& charged) {
  std::vector<std::pair<TaskRange, bool>> back; // The task, and whether it ran.
  for (std::size_t i = 0; i < node.slots.size(); ++i) {
    auto* crash =
      lost.last.crash && lost.last.crash->slot == i ? &*lost.last.crash : nullptr;
    auto start_known = node.page || crash != nullptr;
    auto announced = crash != nullptr ? crash->seq : node.started(i);
    auto is_first = true;
    auto lost_ranges = node.slots[i].take_all();
    if (auto* stream = settings.roster ? settings.roster->stream() : nullptr)
      show_loss(*stream, settings.name, node, i, lost_ranges);
    if (settings.trace)
      settings.trace->drop(node, i, lost_ranges, TraceSpan::Outcome::lost);
    for (auto& [tasks, first_seq] : lost_ranges) {
      auto seq = first_seq;
      while (tasks.size() > 0) {
        auto task = tasks.split(1);
        if (task.ended) {
          is_first = false;
          ++seq;
          continue;
        }
        // Without retries, a task that may have run must not run again, whoever ended
        // its node. If starts are not announced, or the node may still run, that is every
        // task: results of the first ones may have been in flight.
        auto no_retries = settings.max_retries == 0;
        auto ran = start_known ? seq <= announced || (no_retries && !lost.confirmed)
                               : is_first || no_retries;
        auto blamed = start_known ? seq == announced : is_first;
        if ((blame && blamed) || (ran && no_retries)) {
          charged = true;
          // Blames only the crashing slot; a thread without a slot may be any slot's.
          auto its_crash = lost.last.crash && blamed &&
                           (crash != nullptr || !lost.last.crash->slot.has_value());
          charge(std::move(task), lost, its_crash);
        } else {
          back.emplace_back(std::move(task), ran);
        }
        is_first = false;
        ++seq;
      }
    }
  }
  for (auto task = back.rbegin(); task != back.rend(); ++task)
    requeue(std::move(task->first), task->second);
}

/// Charges the task with the loss: retries it, or fails it with WorkerLost after too
/// many. `crashed`: the crash report is about this task.
void PoolState::charge(TaskRange task, const NodeLost& lost, bool crashed) {
  auto exits = task.exits ? *task.exits : std::vector<std::optional<int>>{};
  exits.push_back(lost.exit_code);
  ++task.charges;
  auto allowed = settings.max_retries < 0 ||
                 task.charges <= static_cast<std::uint32_t>(settings.max_retries);
  if (!allowed) {
    auto index = task.batch->first + task.from;
    LastWords last{.log = lost.last.lines};
    if (crashed)
      last.stack = std::make_shared<CrashStack>(lost.last.crash->frames);
    finish(task, {{},
                  std::make_exception_ptr(
                    WorkerLost(index, static_cast<int>(task.attempt), std::move(exits),
                               lost.reason, std::move(last)))});
    return;
  }
  task.exits = std::make_shared<const std::vector<std::optional<int>>>(std::move(exits));
  requeue(std::move(task), true);
}

} // namespace fiber::actors
