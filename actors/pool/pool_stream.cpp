// SPDX-License-Identifier: Apache-2.0
#include "actors/pool/pool_stream.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace fiber::actors {
namespace {

StreamSpan span_of(const std::string& pool, std::size_t worker, const TaskRange& tasks) {
  StreamSpan span;
  span.pool = pool;
  span.worker = worker;
  span.call = tasks.call();
  span.first = tasks.batch->first + tasks.from;
  span.tasks = tasks.size();
  span.attempt = tasks.attempt;
  span.to = std::chrono::steady_clock::now();
  return span;
}

bool has_failed(const TaskResult& result) {
  return result.status != TaskResult::Status::value;
}

} // namespace

void show_results(TaskStream& stream, const std::string& pool, const Node& node,
                  const TaskRange& first, const TaskResults& frame) {
  auto span = span_of(pool, node.first_rank + frame.slot, first);
  span.tasks = frame.results.size();
  span.failed =
    static_cast<std::uint64_t>(std::ranges::count_if(frame.results, has_failed));
  if (span.failed > 0)
    span.outcome = StreamSpan::Outcome::failed;
  span.from = span.to - std::chrono::nanoseconds(frame.busy_ns);
  stream.add(std::move(span));
}

void show_loss(TaskStream& stream, const std::string& pool, const Node& node,
               std::size_t slot, const std::deque<RunningRange>& had) {
  if (had.empty())
    return;
  auto span = span_of(pool, node.first_rank + slot, had.front().tasks);
  span.tasks = 0;
  for (auto& range : had)
    span.tasks += range.tasks.size();
  span.outcome = StreamSpan::Outcome::lost;
  span.from = std::min(node.slots[slot].last_progress, span.to);
  stream.add(std::move(span));
}

} // namespace fiber::actors
