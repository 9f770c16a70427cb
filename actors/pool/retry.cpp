// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <utility>
#include <vector>

#include <caf/all.hpp>

#include "actors/crash/crash_stack.hpp"
#include "actors/pool/pool_state.hpp"
#include "actors/pool/pool_trace.hpp"

// Which tasks are retried: those of lost workers, and those that failed with an exception
// if the pool retries exceptions.

namespace fiber::actors {

/// Tasks that were handed out and have not ended wait again, if anybody still wants them.
/// One that another copy is left of does not, and forgets its charge: a bystander that is
/// lost twice at a time would fail.
void PoolState::requeue(TaskRange tasks, bool again) {
  if (tasks.ended || other_copy_decides(tasks))
    return;
  if (calls[tasks.call()].cancelled || ending) {
    fail(tasks, std::make_exception_ptr(Cancelled("cancelled before it ended")));
    return;
  }
  if (settings.trace)
    PoolTrace::queue(tasks);
  if (again) {
    ++tasks.attempt;
    totals.retries += tasks.size();
    if (settings.chaos_counts)
      settings.chaos_counts->reruns += tasks.size();
  }
  if (tasks.charges > 0)
    queue.suspect(std::move(tasks));
  else
    queue.put_back(std::move(tasks));
}

/// Every task of a lost node waits again or ends. In each slot one is charged: the one it
/// last announced as started, else the first it had not answered.
void PoolState::recover_tasks(Node& node, const NodeLost& lost, bool blame,
                              bool& charged) {
  std::vector<std::pair<TaskRange, bool>> back; // And whether it ran.
  for (std::size_t i = 0; i < node.slots.size(); ++i) {
    auto* crash =
      lost.last.crash && lost.last.crash->slot == i ? &*lost.last.crash : nullptr;
    auto known = node.page || crash != nullptr;
    auto announced = crash != nullptr ? crash->seq : node.started(i);
    auto first = true;
    auto left = node.slots[i].take_all();
    if (settings.trace)
      settings.trace->drop(node, i, left, TraceSpan::Outcome::lost);
    for (auto& [tasks, first_seq] : left) {
      auto seq = first_seq;
      while (tasks.size() > 0) {
        auto task = tasks.split(1);
        if (task.ended) {
          first = false;
          ++seq;
          continue;
        }
        // With no retry at all, whatever may have run must not run again, whoever ended
        // its node. Of unannounced tasks that is all: results of the first ones may have
        // been under way. So it is on a node that may go on.
        auto once = settings.max_retries == 0;
        auto ran = known ? seq <= announced || (once && !lost.confirmed) : first || once;
        auto guilty = known ? seq == announced : first;
        if ((blame && guilty) || (ran && once)) {
          charged = true;
          // Another slot's crash is not its. A thread without slot may be anybody's.
          auto its_crash = lost.last.crash && guilty &&
                           (crash != nullptr || !lost.last.crash->slot.has_value());
          charge(std::move(task), lost, its_crash);
        } else {
          back.emplace_back(std::move(task), ran);
        }
        first = false;
        ++seq;
      }
    }
  }
  for (auto task = back.rbegin(); task != back.rend(); ++task)
    requeue(std::move(task->first), task->second);
}

void PoolState::charge(TaskRange task, const NodeLost& lost, bool crashed) {
  auto exits = task.exits ? *task.exits : std::vector<int>{};
  exits.push_back(lost.exit_code.value_or(WorkerLost::exit_unknown));
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
  task.exits = std::make_shared<const std::vector<int>>(std::move(exits));
  requeue(std::move(task), true);
}

} // namespace fiber::actors
