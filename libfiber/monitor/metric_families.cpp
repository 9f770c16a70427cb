// SPDX-License-Identifier: Apache-2.0
#include "libfiber/monitor/metric_families.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>

#include <nlohmann/json.hpp>

namespace fiber::detail {
namespace {

using nlohmann::json;
using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

/// Histogram buckets: powers of two in ns, from 4 us (2^12) to 275 s (2^38).
constexpr std::size_t first_octave = 12, last_octave = 38;

double number(auto n) {
  return static_cast<double>(n);
}

double number(const json& of, const char* key) {
  return of.at(key).get<double>();
}

std::string text(const json& of, const char* key) {
  return of.at(key).get<std::string>();
}

} // namespace

void MetricFamilies::gauge(const char* name, const char* help, Labels labels,
                           double value) {
  add(name, help, MetricType::Gauge, std::move(labels)).gauge.value += value;
}

void MetricFamilies::counter(const char* name, const char* help, Labels labels,
                             double value) {
  add(name, help, MetricType::Counter, std::move(labels)).counter.value += value;
}

ClientMetric& MetricFamilies::add(const char* name, const char* help, MetricType type,
                                  Labels labels) {
  auto [family, is_new] = places_.try_emplace(name, all_.size(), Metrics{});
  auto& [place, metrics] = family->second;
  if (is_new)
    all_.push_back({name, help, type, {}});
  auto& all = all_[place].metric;
  // Two managers may have one name, and a metric must be there only once.
  auto [metric, added] = metrics.try_emplace(labels, all.size());
  if (added)
    all.emplace_back().label = std::move(labels);
  return all[metric->second];
}

void MetricFamilies::pool(const std::string& name, const actors::PoolReport& report) {
  auto& stats = report.stats;
  Labels pool{{"pool", name}};
  auto with = [&](const char* label, const char* value) {
    return Labels{{"pool", name}, {label, value}};
  };
  gauge("fiber_pool_workers", "Workers that are up and take tasks.", pool,
        number(stats.workers));
  gauge("fiber_pool_queued_tasks", "Tasks that wait in the driver.", pool,
        number(stats.queued));
  gauge("fiber_pool_running_tasks", "Tasks that workers run.", pool,
        number(stats.running));
  gauge("fiber_pool_prefetched_tasks",
        "Tasks that workers have received and not started.", pool,
        number(stats.prefetched));
  constexpr auto tasks = "Tasks that have ended: done with a value, failed otherwise.";
  counter("fiber_pool_tasks_total", tasks, with("outcome", "done"), number(stats.done));
  counter("fiber_pool_tasks_total", tasks, with("outcome", "failed"),
          number(stats.failed));
  counter("fiber_pool_retries_total",
          "Retries of tasks, after a lost worker or an exception.", pool,
          number(stats.retries));
  counter("fiber_pool_speculated_total", "Copies of stragglers.", pool,
          number(stats.speculated));
  counter("fiber_pool_workers_lost_total", "Jobs of workers that ended unplanned.", pool,
          number(stats.workers_lost));
  counter("fiber_pool_late_results_total",
          "Results refused, because their worker had been declared dead, or another "
          "copy of the task had ended first.",
          pool, number(stats.late));
  constexpr auto bytes = "Bytes of tasks and shared values sent to workers, and of "
                         "results received from them.";
  counter("fiber_pool_bytes_total", bytes, with("direction", "sent"),
          number(stats.bytes_sent));
  counter("fiber_pool_bytes_total", bytes, with("direction", "received"),
          number(stats.bytes_received));
  auto& times = add("fiber_pool_task_seconds", "Time that a task ran in its worker.",
                    MetricType::Histogram, pool)
                  .histogram;
  times.sample_count = report.durations.total();
  times.sample_sum = number(report.durations.sum_ns()) / 1e9;
  for (auto octave = first_octave; octave <= last_octave; ++octave)
    times.bucket.push_back(
      {report.durations.below(octave), number(std::uint64_t{1} << octave) / 1e9});
  times.bucket.push_back({times.sample_count, std::numeric_limits<double>::infinity()});
}

// -- the rest of a session --

void MetricFamilies::session(const json& snapshot) {
  auto& about = snapshot.at("session");
  jobs(snapshot.at("jobs"));
  counter("fiber_jobs_lost_total", "Jobs that ended unplanned.", {},
          number(about, "jobs_lost"));
  counter("fiber_failures_total", "Jobs that ended unplanned, and tasks that failed.", {},
          number(snapshot, "failures_seen"));
  gauge("fiber_silent_parts",
        "Queues and other parts that were too busy to answer this scrape.", {},
        number(snapshot, "silent_parts"));
  for (auto& each : snapshot.at("queues"))
    queue(each);
  for (auto& each : snapshot.at("supervisors"))
    supervisor(each);
  for (auto& each : snapshot.at("rings"))
    ring(each);
  for (auto& each : snapshot.at("managers"))
    manager(each);
}

void MetricFamilies::jobs(const json& jobs) {
  std::map<std::pair<std::string, std::string>, std::size_t> kinds;
  for (auto& job : jobs) {
    ++kinds[{text(job, "kind"), text(job, "state")}];
    this->job(job);
  }
  for (auto& [kind, n] : kinds)
    gauge("fiber_jobs", "Jobs that have not ended.",
          {{"kind", kind.first}, {"state", kind.second}}, number(n));
}

void MetricFamilies::job(const json& job) {
  // Not `job`: Prometheus sets that label, and renames one of the same name.
  Labels name{{"job_name", text(job, "name")}};
  gauge("fiber_job_up", "0 while the job starts, then 1.", name,
        text(job, "state") == "starting" ? 0 : 1);
  counter("fiber_job_restarts_total", "Jobs of this name that were lost and replaced.",
          name, number(job, "restarts"));
  if (job.contains("silent_seconds"))
    gauge("fiber_job_silent_seconds", "Time since the driver heard from the job.", name,
          number(job, "silent_seconds"));
  if (job.contains("cpu_seconds"))
    counter("fiber_job_processor_seconds_total", "Processor time of the job.", name,
            number(job, "cpu_seconds"));
  if (job.contains("memory_bytes"))
    gauge("fiber_job_memory_bytes", "Resident memory of the job.", name,
          number(job, "memory_bytes"));
}

void MetricFamilies::queue(const json& queue) {
  Labels labels{{"queue", text(queue, "name")}, {"kind", text(queue, "kind")}};
  gauge("fiber_queue_items", "Items that can be got.", labels, number(queue, "items"));
  if (queue.contains("capacity"))
    gauge("fiber_queue_capacity_items", "The most items that it holds.", labels,
          number(queue, "capacity"));
  counter("fiber_queue_put_items_total", "Items that were put.", labels,
          number(queue, "put"));
  gauge("fiber_queue_producers", "Processes that have put an item.", labels,
        number(queue, "producers"));
  gauge("fiber_queue_consumers", "Processes that have asked for an item.", labels,
        number(queue, "consumers"));
  gauge("fiber_queue_waiting_puts", "Puts that wait for room.", labels,
        number(queue, "waiting_puts"));
  gauge("fiber_queue_waiting_gets", "Gets that wait for an item.", labels,
        number(queue, "waiting_gets"));
}

void MetricFamilies::supervisor(const json& supervisor) {
  auto name = text(supervisor, "name");
  auto& children = supervisor.at("children");
  gauge("fiber_supervisor_children", "Children, supervisors among them.",
        {{"supervisor", name}}, number(children.size()));
  for (auto& child : children) {
    Labels labels{{"supervisor", name}, {"child", text(child, "name")}};
    gauge("fiber_child_up", "1 if the child is alive, else 0.", labels,
          child.at("alive").get<bool>() ? 1 : 0);
    counter("fiber_child_restarts_total", "Restarts of the child.", labels,
            number(child, "restarts"));
    if (child.contains("children"))
      this->supervisor(child);
  }
}

void MetricFamilies::ring(const json& ring) {
  Labels labels{{"ring", text(ring, "name")}};
  gauge("fiber_ring_members", "Members that it is to have.", labels,
        number(ring, "members"));
  gauge("fiber_ring_members_up", "Members whose job is up.", labels,
        number(ring, "members_up"));
  counter("fiber_ring_restarts_total", "Restarts after the loss of a member.", labels,
          number(ring, "restarts"));
  counter("fiber_ring_collectives_total",
          "Collectives since the last restart, reported once a second.", labels,
          number(ring, "collectives"));
}

void MetricFamilies::manager(const json& manager) {
  Labels labels{{"manager", text(manager, "name")}};
  gauge("fiber_manager_up", "1 if its job runs calls, else 0.", labels,
        text(manager, "state") == "up" ? 1 : 0);
  gauge("fiber_manager_objects", "Objects that live in it.", labels,
        number(manager, "objects"));
  counter("fiber_manager_calls_total", "Calls of its objects.", labels,
          number(manager, "calls"));
  gauge("fiber_manager_running_calls", "Calls that its job has and has not answered.",
        labels, number(manager, "running"));
  gauge("fiber_manager_waiting_calls", "Calls that wait for its job.", labels,
        number(manager, "waiting"));
  counter("fiber_manager_restarts_total", "Restarts of its job.", labels,
          number(manager, "restarts"));
}

} // namespace fiber::detail
