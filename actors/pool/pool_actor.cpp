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

/// Statuses of a refusal that asking again does not mend.
constexpr int bad_request = 400, not_found = 404;

std::exception_ptr cancelled(const std::string& why) {
  return std::make_exception_ptr(Cancelled(why));
}

} // namespace
PoolState::~PoolState() {
  // An end that nobody planned must not leave anybody waiting; nobody can be written to
  // any more.
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
    [this](ClosePool) {
      closed = true;
      stop_if_closed();
    },
    [this](TerminatePool) { terminate(); },
    [this](AwaitWorkers& message) { await_workers(message.up); },
    [this](AskStats& message) { message.reply->set(stats()); },
    [this](AskReport& message) {
      message.reply->set({stats(), durations});
    },
    [this](NodeUp& message) { node_up(message); },
    [this](NodeResults& message) { results(message); },
    [this](NodeHandedBack& message) { handed_back(message); },
    [this](const NodeOverdue& message) { overdue(message); },
    [this](const GraceOver& message) { grace_over(message); },
    [this](NodeDraining message) {
      if (auto node = nodes.find(message.incarnation); node != nodes.end())
        leave(node->second);
    },
    [this](NodeShare message) { totals.bytes_sent += message.bytes; },
    [this](const NodeLost& message) {
      return static_cast<std::uint8_t>(node_lost(message));
    },
    [this](StealTick) {
      ticking = false;
      steal();
    },
    [this](SpeculateTick) {
      looking = false;
      speculate();
    },
    [this](ProvenTick message) {
      if (unforgiven && nodes.count(message.incarnation) > 0) {
        unforgiven = false;
        caf::anon_send(supervisor, forgive{});
      }
    },
  };
}

// -- calls --

void PoolState::submit(const std::shared_ptr<const TaskBatch>& batch) {
  auto& record = calls[batch->call->id];
  if (!record.call && batch->call->speculate > 0)
    ++speculating;
  record.call = batch->call;
  record.submitted += batch->size();
  record.to_come = batch->to_come;
  TaskRange tasks{.batch = batch,
                  .from = 0,
                  .to = static_cast<std::uint32_t>(batch->size()),
                  .exits = nullptr};
  if (failure || ending) {
    fail(tasks, failure ? failure : cancelled("the pool was terminated"));
    deliver();
    return;
  }
  if (record.cancelled) {
    fail(tasks, cancelled("cancelled before it started"));
    deliver();
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
    record->second.fed = true;
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
      end_later(node, i, node.slots[i].last_seq());
    }
  }
  deliver();
}

// -- tasks that are to stop --

void PoolState::overdue(const NodeOverdue& news) {
  auto found = nodes.find(news.incarnation);
  if (found == nodes.end() || news.what.slot >= found->second.slots.size())
    return;
  auto& node = found->second;
  if (auto task = node.slots[news.what.slot].abandon(news.what.seq)) {
    if (!leave_to_copy(*task))
      finish(*task, {{}, too_long(*task)});
    deliver();
    end_later(node, news.what.slot, news.what.seq);
  }
}

/// A task that was told to stop has a while for it. What runs on a thread of this process
/// can't be ended.
void PoolState::end_later(const Node& node, std::size_t slot, std::uint64_t seq) {
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
  log().info("{} has a task that did not stop when it was told to; it is replaced",
             node.name);
  node.doomed = true;
  node.leaving = true;
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
    planned = planned || node.leaving;
    lose_tasks(node, lost, !planned && !lost.lease, charged);
    deliver();
  }
  auto child = child_of(lost.name);
  if (child != children.end() && child->second.stopping) {
    planned = true; // Its supervisor would replace it.
    if (was_up)
      stop_child(child->first);
  }
  if (settings.trace && child != children.end())
    settings.trace->worker_lost(child->first * settings.workers_per_job,
                                child->second.slots, lost, planned);
  if (!planned) {
    ++totals.workers_lost;
    last_cause = lost.cause;
    last_status = lost.status;
    warn_of(lost);
  }
  dispatch();
  if (planned)
    return ExitKind::planned;
  if (lost.lease)
    return ExitKind::lease;
  if (charged)
    return ExitKind::charged;
  unforgiven = true;
  return ExitKind::lost;
}

/// Null unless the next job would fare no better. One that is late is no more than that,
/// once another was not.
std::exception_ptr PoolState::why_none_will_start(const NodeLost& lost) const {
  if (lost.cause == LossCause::other_build)
    return std::make_exception_ptr(VersionMismatch(lost.reason));
  if (ever_up)
    return nullptr;
  auto text = "no worker could be started: " + lost.name + ": " + lost.reason;
  if (lost.cause == LossCause::late)
    return std::make_exception_ptr(TimeoutError(text));
  auto asks_in_vain = lost.cause == LossCause::refused &&
                      (lost.status == bad_request || lost.status == not_found);
  if (lost.cause == LossCause::unreachable || asks_in_vain)
    return std::make_exception_ptr(BackendError("start workers", lost.status, text));
  return nullptr;
}

/// At most once a second: a storm says nothing new.
void PoolState::warn_of(const NodeLost& lost) {
  auto now = self->clock().now();
  if (warned && now - *warned < std::chrono::seconds(1)) {
    ++not_warned;
    return;
  }
  warned = now;
  auto others = std::exchange(not_warned, 0);
  log().warn("{} is lost: {}{}", lost.name, lost.reason.empty() ? "ended" : lost.reason,
             others > 0 ? "; " + std::to_string(others) + " more before it" : "");
}

PoolStats PoolState::stats() const {
  auto now = totals;
  now.workers = workers_up();
  now.queued = queue.size() + queue.suspects();
  for (auto& [incarnation, node] : nodes)
    now.running += node.outstanding();
  using std::chrono::microseconds;
  now.p50 = microseconds(durations.percentile_ns(0.5) / 1000);
  now.p99 = microseconds(durations.percentile_ns(0.99) / 1000);
  return now;
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
    node.leaving = true;
    retire_if_empty(node);
  }
  caf::anon_send(supervisor, stop{});
}

void PoolState::terminate() {
  fail_all(cancelled("the pool was terminated"));
  auto again = std::exchange(ending, true);
  answer_waiting();
  if (!supervisor) {
    self->quit();
    return;
  }
  for (auto& [incarnation, node] : nodes)
    self->send(node.link, KillNode{});
  if (!again)
    caf::anon_send(supervisor, stop{});
}

/// More workers would be of no use. The pool stays, to tell why.
void PoolState::give_up(std::exception_ptr why) {
  failure = std::move(why);
  fail_all(failure);
  answer_waiting();
  for (auto& [incarnation, node] : nodes)
    self->send(node.link, KillNode{});
  caf::anon_send(supervisor, stop{});
}

void PoolState::supervisor_down(const caf::error& reason) {
  supervisor = nullptr;
  if (ending) {
    nodes.clear();
    self->quit();
    return;
  }
  // The pool stays, to tell whoever asks why it can't go on.
  if (!failure)
    failure = last_cause == LossCause::late
                ? std::make_exception_ptr(
                    TimeoutError("no worker could be started: " + exit_text(reason)))
                : std::make_exception_ptr(
                    BackendError("start workers", last_status, exit_text(reason)));
  fail_all(failure); // Nodes that had to be killed have not said what they had.
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
