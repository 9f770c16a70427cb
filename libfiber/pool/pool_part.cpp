// SPDX-License-Identifier: Apache-2.0
#include "libfiber/pool/pool_part.hpp"

#include <algorithm>
#include <chrono>

#include "libfiber/observer/function_name.hpp"

namespace fiber::detail {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;

/// A rate is taken over a time between these.
constexpr auto min_interval = 500ms, max_interval = 10000ms;

double seconds(std::chrono::microseconds time) {
  return std::chrono::duration<double>(time).count();
}

json calls_of(const actors::PoolReport& report) {
  auto list = json::array();
  for (auto& call : report.calls)
    list.push_back({{"call", call.call->id},
                    {"function", observer::function_name(call.call->callable)},
                    {"done", call.ended},
                    {"total", call.submitted + call.to_come},
                    {"total_known", call.all_submitted}});
  return list;
}

json jobs_of(const actors::PoolReport& report) {
  auto list = json::array();
  for (auto& node : report.nodes) {
    auto& entry = list.emplace_back(json::object()); // Cheaper than a list of pairs.
    entry["incarnation"] = node.incarnation;
    entry["tasks"] = node.tasks;
  }
  return list;
}

json entry(const std::string& name, const actors::PoolReport& report) {
  auto& stats = report.stats;
  return {{"name", name},
          {"workers_up", stats.workers},
          {"workers_wanted", report.wanted},
          {"queued", stats.queued},
          {"running", stats.running},
          {"prefetched", stats.prefetched},
          {"done", stats.done},
          {"failed", stats.failed},
          {"retries", stats.retries},
          {"speculated", stats.speculated},
          {"workers_lost", stats.workers_lost},
          {"late", stats.late},
          {"bytes_sent", stats.bytes_sent},
          {"bytes_received", stats.bytes_received},
          {"p50_seconds", seconds(stats.p50)},
          {"p99_seconds", seconds(stats.p99)},
          {"calls", calls_of(report)},
          {"jobs", jobs_of(report)}};
}

} // namespace

observer::Part::Answer PoolPart::look() {
  auto pool = pool_.lock();
  auto reply = pool ? pool->ask_report() : nullptr;
  if (!reply)
    return nullptr;
  // A weak reference: an observer must not end the pool.
  return [this, weak = pool_,
          reply](observer::Clock::time_point limit) -> std::optional<json> {
    auto core = weak.lock();
    auto report = core ? core->report(*reply, limit) : std::nullopt;
    if (!report)
      return std::nullopt;
    auto all = entry(core->name(), *report);
    all["tasks_per_second"] = rate(report->stats.done + report->stats.failed);
    return all;
  };
}

double PoolPart::rate(std::size_t ended) {
  std::lock_guard lock(mutex_);
  auto now = observer::Clock::now();
  if (now - seen_at_ > max_interval) {
    seen_at_ = made_;
    seen_ = 0;
  }
  if (auto passed = now - seen_at_; passed >= min_interval || rate_ == 0) {
    auto tasks = static_cast<double>(ended - std::min(ended, seen_));
    rate_ = tasks / std::max(std::chrono::duration<double>(passed).count(), 1e-3);
    seen_at_ = now;
    seen_ = ended;
  }
  return rate_;
}

} // namespace fiber::detail
