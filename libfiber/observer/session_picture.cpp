// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>
#include <utility>

#include "libfiber/observer/session_view.hpp"

// What a page shows of a session beyond the snapshot.

namespace fiber::observer {
namespace {

using nlohmann::json;

constexpr std::size_t max_history = 120;       ///< Points of each number of a pool.
constexpr std::size_t max_past_histories = 20; ///< Of pools that have ended.
constexpr std::size_t max_histories = 300;     ///< Of all pools.
constexpr std::size_t max_outputs = 200;       ///< Names of ended jobs.
constexpr std::size_t max_report_outputs = 40; ///< Of ended jobs, in a report.
constexpr std::size_t max_report_text = 8192;  ///< Bytes of each.

double seconds_of(Clock::duration time) {
  return std::chrono::duration<double>(time).count();
}

double unix_seconds(std::chrono::system_clock::time_point time) {
  return std::chrono::duration<double>(time.time_since_epoch()).count();
}

const char* what_text(actors::JobEvent::What what) {
  switch (what) {
  case actors::JobEvent::What::up:
    return "up";
  case actors::JobEvent::What::draining:
    return "draining";
  case actors::JobEvent::What::ended:
    return "ended";
  case actors::JobEvent::What::lost:
    return "lost";
  }
  return "";
}

const char* outcome_text(actors::StreamSpan::Outcome outcome) {
  switch (outcome) {
  case actors::StreamSpan::Outcome::value:
    return "value";
  case actors::StreamSpan::Outcome::failed:
    return "failed";
  case actors::StreamSpan::Outcome::lost:
    return "lost";
  }
  return "";
}

} // namespace

json SessionView::events() const {
  std::uint64_t all = 0;
  auto list = json::array();
  for (auto& event : session_.roster->events(all)) {
    json entry{{"at", unix_seconds(event.at)},
               {"what", what_text(event.what)},
               {"job", event.job}};
    if (!event.why.empty())
      entry["why"] = event.why;
    list.push_back(std::move(entry));
  }
  return {{"all", all}, {"last", std::move(list)}};
}

json SessionView::stream(std::uint64_t from) const {
  auto* stream = session_.roster->stream();
  if (stream == nullptr)
    return nullptr;
  auto piece = stream->since(from);
  auto rows = json::array();
  for (auto& span : piece.spans)
    rows.push_back({span.pool, span.worker, span.call, span.first, span.tasks,
                    span.failed, span.attempt, outcome_text(span.outcome),
                    seconds_of(span.from - opened_), seconds_of(span.to - opened_)});
  return {{"fields",
           {"pool", "worker", "call", "first", "tasks", "failed", "attempt", "outcome",
            "from", "to"}},
          {"first", piece.first},
          {"next", piece.next},
          {"left_out", piece.left_out},
          {"dropped", piece.dropped},
          {"rows", std::move(rows)}};
}

/// Remembers how the pools look now.
void SessionView::remember(const json& pools) {
  std::lock_guard lock(mutex_);
  if (pools_.size() > max_histories) // Rather none of ended pools than all of them.
    std::erase_if(pools_, [&](auto& seen) {
      return std::ranges::none_of(
        pools, [&](auto& pool) { return pool.at("name") == seen.first; });
    });
  for (auto& pool : pools) {
    auto& seen =
      pools_.try_emplace(pool.at("name").get<std::string>(), max_history).first->second;
    for (auto* number : {"workers_up", "workers_wanted", "tasks_per_second"})
      seen.add(number, pool.at(number).get<double>());
  }
}

/// Adds to the pools how they looked before; of those that have ended, to the last ones.
void SessionView::add_history(json& pools) {
  std::lock_guard lock(mutex_);
  auto ended = static_cast<std::size_t>(
    std::ranges::count_if(pools, [](auto& pool) { return pool.contains("ended"); }));
  for (auto& pool : pools) {
    if (pool.contains("ended") && ended-- > max_past_histories)
      continue;
    std::uint64_t refused = 0;
    if (auto seen = pools_.find(pool.at("name").get<std::string>()); seen != pools_.end())
      pool["history"] = seen->second.list(opened_, refused);
  }
}

/// Remembers what can end, and adds what has ended since it was seen.
void SessionView::keep_past(json& all) {
  std::lock_guard lock(mutex_);
  past_["pools"].keep(all["pools"], [](json& pool) {
    pool["workers_up"] = pool["workers_wanted"] = pool["tasks_per_second"] = 0;
  });
  past_["rings"].keep(
    all["rings"], [](json& ring) { ring["members_running"] = ring["members_up"] = 0; });
  past_["managers"].keep(all["managers"], [](json& manager) {
    manager["state"] = "ended";
    manager["running"] = manager["waiting"] = 0;
  });
}

json SessionView::picture(std::chrono::milliseconds patience, std::uint64_t stream_from) {
  auto all = snapshot(patience);
  for (auto& pool : all["pools"]) // The jobs say how many tasks each has.
    pool.erase("jobs");
  // A pool that did not answer must not be taken for one that has ended.
  if (all.at("silent_parts") == 0)
    keep_past(all);
  add_history(all["pools"]);
  {
    std::lock_guard lock(mutex_);
    for (auto& [list, past] : past_)
      all[list + "_forgotten"] = past.forgotten();
  }
  std::uint64_t refused = 0;
  all["series"] = series_.list(opened_, refused);
  all["series_values_refused"] = refused;
  all["events"] = events();
  all["stream"] = stream(stream_from);
  auto ended = session_.roster->ended();
  auto more = ended.size() - std::min(ended.size(), max_outputs);
  ended.erase(ended.begin(), ended.begin() + static_cast<std::ptrdiff_t>(more));
  all["ended_jobs"] = std::move(ended); // Whose output is kept.
  all["at"] = unix_seconds(std::chrono::system_clock::now());
  return all;
}

json SessionView::report(std::chrono::milliseconds patience) {
  auto all = picture(patience, 0);
  auto ended = session_.roster->ended();
  auto outputs = json::object();
  auto last = ended.size() - std::min(ended.size(), max_report_outputs);
  for (auto i = last; i < ended.size(); ++i)
    if (auto text = session_.roster->output(ended[i])) {
      text->erase(0, text->size() - std::min(text->size(), max_report_text));
      outputs[ended[i]] = std::move(*text);
    }
  all["outputs"] = std::move(outputs);
  all["outputs_left_out"] = last;
  return all;
}

} // namespace fiber::observer
