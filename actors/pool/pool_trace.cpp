// SPDX-License-Identifier: Apache-2.0
#include "actors/pool/pool_trace.hpp"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

namespace fiber::actors {
namespace {

using Kind = TraceSpan::Kind;
using Outcome = TraceSpan::Outcome;

/// Times that a job tells are not taken for earlier than that.
constexpr std::chrono::hours longest_run{24 * 365};

Outcome outcome_of_ended(const TaskRange& task) {
  return task.overtaken ? Outcome::overtaken : Outcome::cancelled;
}

Outcome outcome_of(const TaskRange& task, TaskResult::Status status) {
  if (status == TaskResult::Status::overdue)
    return Outcome::overdue;
  if (task.ended)
    return outcome_of_ended(task);
  return status == TaskResult::Status::failure ? Outcome::failed : Outcome::value;
}

} // namespace

PoolTrace::PoolTrace(std::shared_ptr<Trace> trace, std::uint32_t pool,
                     const std::string& name, bool nested)
  : trace_(std::move(trace)), pool_(pool), nested_(nested) {
  trace_->name_pool(pool_, name);
}

PoolTrace::Row& PoolTrace::row(std::size_t worker) {
  if (worker >= rows_.size())
    rows_.resize(worker + 1, Row{.free_since = since_});
  return rows_[worker];
}

bool PoolTrace::name(std::size_t worker) {
  if (std::exchange(row(worker).named, true))
    return false;
  trace_->name_worker(pool_, static_cast<std::uint32_t>(worker));
  return true;
}

TraceSpan PoolTrace::span(Kind kind, std::size_t worker, const TaskRange& tasks) const {
  TraceSpan span;
  span.kind = kind;
  span.pool = pool_;
  span.worker = static_cast<std::uint32_t>(worker);
  span.attempt = tasks.attempt;
  span.copied = tasks.twin && tasks.attempt < tasks.twin->attempt;
  span.call = tasks.call();
  span.first = tasks.batch->first + tasks.from;
  span.tasks = tasks.size();
  return span;
}

void PoolTrace::queue(TaskRange& tasks) {
  tasks.queued_at = Trace::Clock::now();
}

void PoolTrace::send(std::size_t worker, TaskRange& tasks) {
  tasks.sent_at = Trace::Clock::now();
  auto waited = span(Kind::queued, worker, tasks);
  waited.from = tasks.queued_at;
  waited.to = tasks.sent_at;
  trace_->add(waited);
}

void PoolTrace::take(std::size_t worker, const TaskRange& task,
                     const TaskResults& results, std::size_t i) {
  if (i >= results.times.size())
    return;
  auto& state = row(worker);
  auto now = Trace::Clock::now();
  auto& [began_ns, ran_ns] = results.times[i];
  auto run = span(Kind::run, worker, task);
  run.queued_at = task.queued_at;
  run.sent_at = task.sent_at;
  run.returned_at = now;
  run.outcome = outcome_of(task, results.results[i].status);
  auto earliest = std::max(task.sent_at, nested_ ? since_ : state.free_since);
  using std::chrono::nanoseconds;
  // A job's numbers may be anything.
  auto began = std::clamp(TraceSpan::Time(nanoseconds(began_ns)), now - longest_run, now);
  run.from = std::clamp(began, earliest, now);
  auto ran = std::max(nanoseconds(ran_ns), nanoseconds(0)) -
             std::max(nanoseconds(since_ - began), nanoseconds(0));
  run.to = run.from + std::clamp(ran, nanoseconds(0), nanoseconds(now - run.from));
  state.free_since = run.to;
  if (std::exchange(state.sent_at, task.sent_at) != task.sent_at) { // First of its frame.
    auto under_way = span(Kind::sent, worker, task);
    under_way.from = task.sent_at;
    under_way.to = run.from;
    trace_->add(under_way);
  }
  trace_->add(run);
  gather(state, run, i == 0, i + 1 == results.results.size());
}

/// Merges results of one frame into one span as long as their indices are consecutive. A
/// frame may hold tasks of several ranges.
void PoolTrace::gather(Row& state, const TraceSpan& run, bool first, bool last) {
  auto& back = state.back;
  if (back && (first || back->call != run.call || back->first + back->tasks != run.first))
    trace_->add(*std::exchange(back, std::nullopt));
  if (back) {
    ++back->tasks;
  } else {
    back = run;
    back->kind = Kind::returning;
  }
  back->from = run.to;
  back->to = run.returned_at;
  if (last)
    trace_->add(*std::exchange(back, std::nullopt));
}

void PoolTrace::drop(const Node& node, std::size_t slot,
                     const std::deque<RunningRange>& ranges, Outcome outcome) {
  if (ranges.empty())
    return;
  auto worker = node.first_rank + slot;
  auto& state = row(worker);
  auto now = Trace::Clock::now();
  auto started = node.page ? node.started(slot) : ranges.front().first_seq;
  for (auto& [tasks, first_seq] : ranges) {
    auto rest = tasks;
    for (auto seq = first_seq; seq <= started && rest.size() > 0; ++seq) {
      auto task = rest.split(1);
      if (seq < started) { // It ended, but its result has not arrived.
        trace_->add_instant(pool_, static_cast<std::uint32_t>(worker), "result lost",
                            {{"call", task.call()},
                             {"index", task.batch->first + task.from},
                             {"attempt", task.attempt}});
        continue;
      }
      auto run = span(Kind::run, worker, task);
      run.queued_at = task.queued_at;
      run.sent_at = task.sent_at;
      run.returned_at = now;
      run.outcome = task.ended ? outcome_of_ended(task) : outcome;
      run.from = std::max(task.sent_at, state.free_since);
      run.to = now;
      trace_->add(run);
      state.free_since = now;
    }
  }
}

void PoolTrace::copy(std::size_t worker, std::size_t first, const TaskRange& task) {
  trace_->add_instant(pool_, static_cast<std::uint32_t>(worker), "copy",
                      {{"call", task.call()},
                       {"index", task.batch->first + task.from},
                       {"attempt", task.attempt},
                       {"of_worker", first}});
}

void PoolTrace::show(const Node& node) {
  for (std::size_t i = 0; i < node.slots.size(); ++i)
    name(node.first_rank + i);
}

void PoolTrace::worker_up(const Node& node) {
  for (std::size_t i = 0; i < node.slots.size(); ++i) {
    auto worker = static_cast<std::uint32_t>(node.first_rank + i);
    auto again = !name(worker);
    trace_->add_instant(pool_, worker, again ? "worker restarted" : "worker up",
                        {{"job", node.job}});
  }
}

void PoolTrace::worker_lost(std::size_t first_worker, std::size_t workers,
                            const NodeLost& lost, bool planned) {
  auto what = planned              ? "worker ended"
              : lost.declared_dead ? "worker declared dead"
                                   : "worker lost";
  nlohmann::json details{{"job", lost.name + "-" + std::to_string(lost.incarnation)},
                         {"reason", lost.reason}};
  if (lost.exit_code)
    details["exit_code"] = *lost.exit_code;
  for (std::size_t i = 0; i < workers; ++i) {
    name(first_worker + i);
    trace_->add_instant(pool_, static_cast<std::uint32_t>(first_worker + i), what,
                        details);
  }
}

void PoolTrace::chaos(std::size_t worker, Chaos::Fate fate) {
  trace_->add_instant(pool_, static_cast<std::uint32_t>(worker),
                      fate == Chaos::Fate::kill ? "chaos: kill" : "chaos: stall",
                      nlohmann::json::object());
}

} // namespace fiber::actors
