// SPDX-License-Identifier: Apache-2.0
#include "actors/pool/pool_actor.hpp"

#include <algorithm>
#include <utility>

#include <caf/all.hpp>

#include "actors/pool/pool_state.hpp"
#include "actors/pool/pool_trace.hpp"
#include "base/log.hpp"

namespace fiber::actors {
namespace {

/// HTTP statuses of a refusal for which a retry is useless.
constexpr int bad_request = 400, not_found = 404;

std::exception_ptr cancelled(const std::string& why) {
  return std::make_exception_ptr(Cancelled(why));
}

} // namespace
PoolState::~PoolState() {
  // Even an unplanned end answers every caller. No message can be sent any more, so no
  // node is told to close a call.
  ending = true;
  for (auto& [incarnation, node] : nodes)
    node.opened.clear();
  auto ended = std::make_exception_ptr(Closed("the pool has ended"));
  fail_all(ended);
  for (auto& up : awaiting_workers)
    up->set(ended);
}

caf::behavior PoolState::make_behavior(PoolSettings with) {
  settings = std::move(with);
  self->set_down_handler([this](caf::down_msg& down) {
    if (supervisor && down.source == supervisor.address())
      supervisor_down(down.reason);
  });
  self->set_exit_handler([this](caf::exit_msg&) { terminate(); });
  return {
    [this](Submit& message) { submit(message.batch); },
    [this](EndCall message) { end_call(message.call); },
    [this](CancelCall message) { cancel_call(message.call); },
    [this](StartWorkers) { start_workers(); },
    [this](Resize message) {
      scale.reset();
      resize(message.workers);
    },
    [this](const Autoscale& message) { autoscale(message); },
    [this](ScaleTick) { shrink(); },
    [this](RoomTick) { shortage_tick(); },
    [this](ClosePool) {
      closed = true;
      stop_if_closed();
    },
    [this](TerminatePool) { terminate(); },
    [this](AwaitWorkers& message) { await_workers(message.up); },
    [this](AskStats& message) { message.reply->set(stats()); },
    [this](AskReport& message) { message.reply->set(report()); },
    [this](TraceTasks& message) { trace_tasks(message.trace); },
    [this](NodeUp& message) { node_up(message); },
    [this](NodeResults& message) { results(message); },
    [this](NodeHandedBack& message) { handed_back(message); },
    [this](const NodeOverdue& message) { overdue(message); },
    [this](const GraceOver& message) { grace_over(message); },
    [this](NodeDraining message) {
      if (auto node = nodes.find(message.incarnation); node != nodes.end())
        drain(node->second);
    },
    [this](NodeShare message) { totals.bytes_sent += message.bytes; },
    [this](const NodeLost& message) {
      return static_cast<std::uint8_t>(node_lost(message));
    },
    [this](StealTick) { steal_tick(); },
    [this](SpeculateTick) {
      speculate_pending = false;
      speculate();
    },
    [this](CloseTick) {
      close_pending = false;
      close_ended_calls();
    },
    [this](ProvenTick message) {
      if (losses_counted && nodes.count(message.incarnation) > 0) {
        losses_counted = false;
        caf::anon_send(supervisor, ForgiveFailures{});
      }
    },
  };
}

// -- calls --

void PoolState::submit(const std::shared_ptr<const TaskBatch>& batch) {
  auto& record = calls[batch->call->id];
  if (!record.call && batch->call->speculate > 0)
    ++speculative_calls;
  record.call = batch->call;
  record.submitted += batch->size();
  record.to_come = batch->to_come;
  note_to_come(batch->to_come);
  TaskRange tasks{.batch = batch,
                  .from = 0,
                  .to = static_cast<std::uint32_t>(batch->size()),
                  .exits = nullptr};
  if (failure || ending) {
    fail(tasks, failure ? failure : cancelled("the pool was terminated"));
    deliver_completions();
    return;
  }
  if (record.cancelled) {
    fail(tasks, cancelled("cancelled before it started"));
    deliver_completions();
    return;
  }
  auto was_waiting = !queue.empty();
  if (settings.trace)
    PoolTrace::queue(tasks);
  queue.add(std::move(tasks));
  start_workers();
  if (!was_waiting)
    saturated = false;
  dispatch();
}

void PoolState::end_call(std::uint64_t call) {
  if (auto record = calls.find(call); record != calls.end()) {
    record->second.all_submitted = true;
    record->second.to_come = 0;
    drop_call_if_over(call);
  }
}

void PoolState::cancel_call(std::uint64_t call) {
  auto record = calls.find(call);
  if (record == calls.end())
    return;
  record->second.cancelled = true;
  for (auto& tasks : queue.remove(call))
    fail(tasks, cancelled("cancelled before it started"));
  for (auto& [incarnation, node] : nodes) {
    auto told = false;
    for (std::size_t i = 0; i < node.slots.size(); ++i) {
      auto open = node.slots[i].abandon_call(call);
      if (open.empty())
        continue;
      if (!std::exchange(told, true)) {
        NodeFrame frame;
        Writer writer(frame.head);
        write(writer, Op::stop, call);
        flush(node, frame);
      }
      recall(node, i, UINT32_MAX);
      for (auto& tasks : open)
        fail(tasks, cancelled("cancelled before it ended"));
      kill_after_grace(node, i, node.slots[i].last_seq());
    }
  }
  deliver_completions();
}

// -- tasks that were told to stop --

void PoolState::overdue(const NodeOverdue& news) {
  auto found = nodes.find(news.incarnation);
  if (found == nodes.end() || news.what.slot >= found->second.slots.size())
    return;
  auto& node = found->second;
  if (auto task = node.slots[news.what.slot].abandon(news.what.seq)) {
    if (!other_copy_decides(*task))
      finish(*task, {{}, timeout_error(*task)});
    deliver_completions();
    kill_after_grace(node, news.what.slot, news.what.seq);
  }
}

/// Kills the node after a grace period if the task has not stopped. Does nothing if tasks
/// run on threads of this process, which can't be killed.
void PoolState::kill_after_grace(const Node& node, std::size_t slot, std::uint64_t seq) {
  if (!settings.nested)
    self->delayed_send(self, settings.cancel_grace,
                       GraceOver{node.incarnation, slot, seq});
}

void PoolState::grace_over(const GraceOver& message) {
  auto found = nodes.find(message.incarnation);
  if (found == nodes.end() || found->second.doomed ||
      !found->second.slots[message.slot].has_abandoned(message.seq))
    return;
  auto& node = found->second;
  log().info("{} is replaced, as one of its tasks did not stop when it was told to",
             node.name);
  node.doomed = true;
  node.draining = true;
  self->send(node.link, KillNode{});
}

// -- workers --

ExitKind PoolState::node_lost(const NodeLost& lost) {
  auto found = nodes.find(lost.incarnation);
  auto hopeless = why_none_will_start(lost);
  auto planned = ending || lost.planned || hopeless;
  auto charged = false;
  if (hopeless && !failure && !ending)
    give_up(hopeless);
  auto was_up = found != nodes.end();
  if (was_up) {
    auto node = std::move(found->second);
    slots_up -= node.slots.size();
    nodes.erase(found);
    planned = planned || node.draining;
    recover_tasks(node, lost, !planned && !lost.lease, charged);
    deliver_completions();
  }
  auto no_room = !was_up && wait_for_room(lost);
  auto child = child_of(lost.name);
  if (child != children.end() && child->second.stopping) {
    planned = true; // Else its supervisor would replace it.
    if (was_up)
      stop_child(child->first);
  }
  if (settings.trace && child != children.end())
    settings.trace->worker_lost(child->first * settings.workers_per_job,
                                child->second.slots, lost, planned);
  if (!planned || no_room)
    ++totals.workers_lost;
  if (!planned) {
    last_cause = lost.cause;
    last_status = lost.status;
    warn_of(lost);
  }
  dispatch();
  if (planned)
    return ExitKind::planned;
  if (lost.lease || lost.cause == LossCause::queued) // Not a failure of the pool.
    return ExitKind::lease;
  if (charged)
    return ExitKind::charged;
  losses_counted = true;
  return ExitKind::lost;
}

/// Returns why no worker will ever start, or null if a retry may help. Once a worker has
/// been up, a late or unreachable one is an ordinary loss; and so is one without room
/// while another one is up.
std::exception_ptr PoolState::why_none_will_start(const NodeLost& lost) const {
  if (lost.cause == LossCause::other_build)
    return std::make_exception_ptr(VersionMismatch(lost.reason));
  auto no_room = lost.cause == LossCause::queued;
  if (no_room ? !nodes.empty() : ever_up)
    return nullptr;
  auto text = "no worker could be started: " + lost.name + ": " + lost.reason;
  if (lost.cause == LossCause::late || no_room)
    return std::make_exception_ptr(TimeoutError(text));
  auto retry_is_useless = lost.cause == LossCause::refused &&
                          (lost.status == bad_request || lost.status == not_found);
  if (lost.cause == LossCause::unreachable || retry_is_useless)
    return std::make_exception_ptr(BackendError("start workers", lost.status, text));
  return nullptr;
}

/// Warns at most once a second.
void PoolState::warn_of(const NodeLost& lost) {
  auto now = self->clock().now();
  if (last_warning && now - *last_warning < std::chrono::seconds(1)) {
    ++unreported_losses;
    return;
  }
  last_warning = now;
  auto others = std::exchange(unreported_losses, 0);
  log().warn("{} is lost: {}{}", lost.name, lost.reason.empty() ? "ended" : lost.reason,
             others > 0 ? "; " + std::to_string(others) + " more before it" : "");
}

PoolStats PoolState::stats() const {
  auto now = totals;
  now.workers = workers_up();
  now.queued = queue.size() + queue.suspects();
  for (auto& [incarnation, node] : nodes) {
    auto running = node.running();
    now.running += running;
    now.prefetched += node.outstanding() - running;
  }
  using std::chrono::microseconds;
  now.p50 = microseconds(durations.percentile_ns(0.5) / 1000);
  now.p99 = microseconds(durations.percentile_ns(0.99) / 1000);
  return now;
}

PoolReport PoolState::report() const {
  PoolReport report{.stats = stats(), .durations = durations};
  report.wanted = started && !ending && !failure ? settings.workers : 0;
  for (auto& [id, record] : calls)
    if (record.call)
      report.calls.push_back({record.call, record.submitted, record.ended, record.to_come,
                              record.all_submitted});
  std::ranges::sort(report.calls, {}, [](auto& each) { return each.call->id; });
  for (auto& [incarnation, node] : nodes)
    report.nodes.push_back({incarnation, node.outstanding()});
  return report;
}

// -- the end --

void PoolState::stop_if_closed() {
  if (!closed || ending || !calls.empty())
    return;
  ending = true;
  answer_waiting();
  if (!supervisor) {
    self->quit();
    return;
  }
  for (auto& [incarnation, node] : nodes) {
    node.draining = true;
    retire_if_empty(node);
  }
  caf::anon_send(supervisor, StopSupervisor{});
}

void PoolState::terminate() {
  fail_all(cancelled("the pool was terminated"));
  auto already_ending = std::exchange(ending, true);
  answer_waiting();
  if (!supervisor) {
    self->quit();
    return;
  }
  for (auto& [incarnation, node] : nodes)
    self->send(node.link, KillNode{});
  if (!already_ending)
    caf::anon_send(supervisor, StopSupervisor{});
}

/// Ends all tasks, since no worker can start. The pool lives on to report `why`.
void PoolState::give_up(std::exception_ptr why) {
  failure = std::move(why);
  fail_all(failure);
  answer_waiting();
  for (auto& [incarnation, node] : nodes)
    self->send(node.link, KillNode{});
  caf::anon_send(supervisor, StopSupervisor{});
}

void PoolState::supervisor_down(const caf::error& reason) {
  supervisor = nullptr;
  if (ending) {
    nodes.clear();
    self->quit();
    return;
  }
  // The pool lives on to report the failure to later callers.
  if (!failure)
    failure = last_cause == LossCause::late || last_cause == LossCause::queued
                ? std::make_exception_ptr(
                    TimeoutError("no worker could be started: " + exit_text(reason)))
                : std::make_exception_ptr(
                    BackendError("start workers", last_status, exit_text(reason)));
  fail_all(failure); // Killed nodes did not report the tasks that they held.
  nodes.clear();
  slots_up = 0;
  answer_waiting();
}

caf::actor spawn_pool(caf::actor_system& system, PoolSettings settings) {
  return system.spawn(
    [](caf::stateful_actor<PoolState>* self, const PoolSettings& with) {
      return self->state.make_behavior(with);
    },
    std::move(settings));
}

} // namespace fiber::actors
