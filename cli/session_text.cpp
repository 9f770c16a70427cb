// SPDX-License-Identifier: Apache-2.0
#include "cli/session_text.hpp"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "cli/printable.hpp"
#include "cli/table.hpp"
#include "cli/totals.hpp"

namespace fiber::cli {
namespace {

using nlohmann::json;

constexpr std::size_t bar_width = 24;
constexpr std::size_t status_failures = 20; ///< Shown by session_lines().

json list(const json& of, const char* key) {
  auto found = of.find(key);
  return found != of.end() && found->is_array() ? *found : json::array();
}

std::string text(const json& of, const char* key) {
  auto found = of.find(key);
  return found != of.end() && found->is_string() ? printable(found->get<std::string>())
                                                 : "";
}

double number(const json& of, const char* key) {
  auto found = of.find(key);
  return found != of.end() && found->is_number() ? found->get<double>() : 0;
}

std::string count(const json& of, const char* key) {
  return short_count(number(of, key));
}

json about(const json& snapshot) {
  return snapshot.value("session", json::object());
}

std::string program_name(const json& session) {
  return std::filesystem::path(text(session, "program")).filename().string();
}

/// "  simulate  [#####     ] 64/300 21 %  ETA 0:07"
std::string call_line(const json& call, double rate, std::size_t columns) {
  auto done = number(call, "done"), total = std::max(number(call, "total"), done);
  auto known = call.value("total_known", false);
  auto function = text(call, "function");
  auto name = fmt::format("  call {}{}", count(call, "call"),
                          function.empty() ? "" : " " + function);
  auto figures =
    fmt::format("{}/{}{}", short_count(done), short_count(total), known ? "" : "+");
  auto share = total > 0 ? done / total : 0;
  if (known)
    figures += fmt::format(" {:.0f} %", 100 * share);
  if (known && rate > 0 && total > done)
    figures += "  ETA " + clock_time((total - done) / rate);
  auto filled = static_cast<std::size_t>(share * static_cast<double>(bar_width));
  auto bar = fmt::format("  [{:<{}}] ", std::string(filled, '#'), bar_width);
  auto fits = width_of(name) + bar.size() + figures.size() <= columns;
  return name + (fits ? bar : "  ") + figures;
}

void add_children(Lines& lines, const json& supervisor, std::size_t depth) {
  for (auto& child : list(supervisor, "children")) {
    auto strategy = text(child, "strategy");
    auto error = text(child, "last_error");
    lines.push_back(
      fmt::format("{}{}  {}{}  restarts {}{}", std::string(2 * depth, ' '),
                  text(child, "name"), child.value("alive", false) ? "up" : "down",
                  strategy.empty() ? "" : "  " + strategy, count(child, "restarts"),
                  error.empty() ? "" : "  last: " + error));
    add_children(lines, child, depth + 1);
  }
}

/// The table of the pools, in which the column PREFETCHED may be left out.
Lines pool_rows(const json& pools, bool with_prefetched) {
  std::vector<std::string> titles{"POOL",     ">WORKERS", ">QUEUED", ">PREFETCHED",
                                  ">RUNNING", ">DONE",    ">FAILED", ">RETRIES",
                                  ">LOST",    ">P50",     ">P99",    ">TASKS/S"};
  constexpr std::ptrdiff_t prefetched = 3;
  if (!with_prefetched)
    titles.erase(titles.begin() + prefetched);
  Table table(std::move(titles));
  for (auto& pool : pools) {
    std::vector<std::string> cells{text(pool, "name"),
                                   count(pool, "workers_up") + "/" +
                                     count(pool, "workers_wanted"),
                                   count(pool, "queued"),
                                   count(pool, "prefetched"),
                                   count(pool, "running"),
                                   count(pool, "done"),
                                   count(pool, "failed"),
                                   count(pool, "retries"),
                                   count(pool, "workers_lost"),
                                   short_time(number(pool, "p50_seconds")),
                                   short_time(number(pool, "p99_seconds")),
                                   count(pool, "tasks_per_second")};
    if (!with_prefetched)
      cells.erase(cells.begin() + prefetched);
    table.add(std::move(cells));
  }
  return table.lines();
}

void add_section(Lines& lines, const std::string& title, const Lines& section) {
  if (section.empty())
    return;
  lines.emplace_back();
  lines.push_back(title);
  lines.insert(lines.end(), section.begin(), section.end());
}

} // namespace

std::string headline(const json& snapshot) {
  auto session = about(snapshot);
  auto totals = totals_of(snapshot);
  auto n = [](std::uint64_t value) { return short_count(static_cast<double>(value)); };
  return fmt::format("{}  {}  {}  up {}  workers {}/{}  done {}  failed {}  lost {}",
                     text(session, "name"), program_name(session),
                     text(session, "backend"), clock_time(number(session, "age_seconds")),
                     n(totals.workers_up), n(totals.workers_wanted), n(totals.done),
                     n(totals.failed), count(session, "jobs_lost"));
}

Lines about_lines(const json& snapshot) {
  auto session = about(snapshot);
  std::string arguments;
  for (auto& word : list(session, "arguments"))
    if (word.is_string())
      arguments += (arguments.empty() ? "" : " ") + printable(word.get<std::string>());
  return {
    fmt::format("program  {}", text(session, "program")),
    fmt::format("command  {}", arguments),
    fmt::format("folder   {}", text(session, "folder")),
    fmt::format("pid      {:.0f} on {}", number(session, "pid"), text(session, "host")),
    fmt::format("started  {}", text(session, "started"))};
}

Lines pool_lines(const json& snapshot, std::size_t columns) {
  auto pools = list(snapshot, "pools");
  if (pools.empty())
    return {};
  auto rows = pool_rows(pools, true);
  if (std::ranges::any_of(rows, [&](auto& row) { return width_of(row) > columns; }))
    rows = pool_rows(pools, false);
  Lines lines{rows.front()};
  for (std::size_t i = 0; i < pools.size(); ++i) {
    lines.push_back(rows[i + 1]);
    for (auto& call : list(pools[i], "calls"))
      lines.push_back(call_line(call, number(pools[i], "tasks_per_second"), columns));
  }
  return lines;
}

const char* text_of(JobOrder order) {
  switch (order) {
  case JobOrder::name:
    return "name";
  case JobOrder::tasks:
    return "tasks";
  case JobOrder::restarts:
    return "restarts";
  case JobOrder::age:
    return "age";
  }
  return "";
}

std::vector<json> sorted_jobs(const json& snapshot, JobOrder order) {
  auto all = list(snapshot, "jobs");
  std::vector<json> jobs(all.begin(), all.end());
  // Short names first, so that w2 comes before w10.
  std::ranges::stable_sort(jobs, {}, [](auto& job) {
    auto name = text(job, "name");
    return std::pair(name.size(), name);
  });
  if (order != JobOrder::name)
    std::ranges::stable_sort(jobs, std::greater(), [&](auto& job) {
      return number(job, order == JobOrder::tasks      ? "tasks"
                         : order == JobOrder::restarts ? "restarts"
                                                       : "age_seconds");
    });
  return jobs;
}

std::string waits_for(const json& job) {
  auto words = text(job, "waits_for");
  return words.empty() || !job.contains("waits_seconds")
           ? words
           : words + " (for " + clock_time(number(job, "waits_seconds")) + ")";
}

std::string wait_line(const json& snapshot) {
  auto all = list(snapshot, "jobs");
  std::vector<json> jobs(all.begin(), all.end());
  std::erase_if(jobs, [](auto& job) { return waits_for(job).empty(); });
  if (jobs.empty())
    return {};
  auto longest = std::ranges::max_element(
    jobs, {}, [](auto& job) { return number(job, "waits_seconds"); });
  return std::to_string(jobs.size()) +
         (jobs.size() == 1 ? " job waits: " : " jobs wait: ") + waits_for(*longest);
}

Lines job_lines(const std::vector<json>& jobs) {
  if (jobs.empty())
    return {};
  std::vector<std::string> titles{"JOB",       "KIND", "STATE",  ">PID", ">TASKS",
                                  ">RESTARTS", ">AGE", ">HEARD", "ID"};
  if (std::ranges::any_of(jobs, [](auto& job) { return !waits_for(job).empty(); }))
    titles.emplace_back("WHY IT WAITS");
  Table table(std::move(titles));
  for (auto& job : jobs) {
    auto pid = number(job, "pid");
    table.add({text(job, "job"), text(job, "kind"), text(job, "state"),
               pid > 0 ? fmt::format("{:.0f}", pid) : "-", count(job, "tasks"),
               count(job, "restarts"), clock_time(number(job, "age_seconds")),
               job.contains("silent_seconds")
                 ? fmt::format("{:.1f} s", number(job, "silent_seconds"))
                 : "-",
               text(job, "id"), waits_for(job)});
  }
  return table.lines();
}

Lines supervisor_lines(const json& snapshot) {
  Lines lines;
  for (auto& supervisor : list(snapshot, "supervisors")) {
    lines.push_back(text(supervisor, "name") + "  " + text(supervisor, "strategy"));
    add_children(lines, supervisor, 1);
  }
  return lines;
}

Lines queue_lines(const json& snapshot) {
  auto queues = list(snapshot, "queues");
  if (queues.empty())
    return {};
  Table table({"QUEUE", ">ITEMS", ">CAPACITY", ">PRODUCERS", ">CONSUMERS", ">PUTS WAIT",
               ">GETS WAIT"});
  for (auto& queue : queues)
    table.add({text(queue, "name"), count(queue, "items"),
               queue.contains("capacity") ? count(queue, "capacity") : "-",
               count(queue, "producers"), count(queue, "consumers"),
               count(queue, "waiting_puts"), count(queue, "waiting_gets")});
  return table.lines();
}

Lines ring_lines(const json& snapshot) {
  auto rings = list(snapshot, "rings");
  if (rings.empty())
    return {};
  Table table({"RING", ">MEMBERS UP", ">ATTEMPT", ">RESTARTS", ">COLLECTIVES"});
  for (auto& ring : rings)
    table.add({text(ring, "name"),
               count(ring, "members_up") + "/" + count(ring, "members"),
               count(ring, "attempt"),
               count(ring, "restarts") +
                 (ring.contains("max_restarts") ? "/" + count(ring, "max_restarts") : ""),
               count(ring, "collectives")});
  return table.lines();
}

Lines manager_lines(const json& snapshot) {
  auto managers = list(snapshot, "managers");
  if (managers.empty())
    return {};
  Table table({"MANAGER", "STATE", ">OBJECTS", ">CALLS", ">RUNNING", ">WAITING",
               ">RESTARTS", "TYPES"});
  for (auto& manager : managers) {
    std::string types;
    for (auto& type : list(manager, "types"))
      types +=
        (types.empty() ? "" : ", ") + text(type, "type") + " " + count(type, "objects");
    table.add({text(manager, "name"), text(manager, "state"), count(manager, "objects"),
               count(manager, "calls"), count(manager, "running"),
               count(manager, "waiting"), count(manager, "restarts"), types});
  }
  return table.lines();
}

Lines failure_lines(const json& snapshot, std::size_t most) {
  Lines lines;
  auto failures = list(snapshot, "failures");
  for (auto failure = failures.rbegin();
       failure != failures.rend() && lines.size() < most; ++failure) {
    auto why = text(*failure, "why");
    lines.push_back(text(*failure, "at") + "  " + text(*failure, "kind") + "  " +
                    text(*failure, "who") + "  " + why);
  }
  return lines;
}

Lines session_lines(const json& snapshot, std::size_t columns, JobOrder order) {
  Lines lines{headline(snapshot)};
  auto facts = about_lines(snapshot);
  lines.insert(lines.end(), facts.begin(), facts.end());
  add_section(lines, "POOLS", pool_lines(snapshot, columns));
  add_section(lines, fmt::format("JOBS by {}", text_of(order)),
              job_lines(sorted_jobs(snapshot, order)));
  add_section(lines, "SUPERVISORS", supervisor_lines(snapshot));
  add_section(lines, "RINGS", ring_lines(snapshot));
  add_section(lines, "MANAGERS", manager_lines(snapshot));
  add_section(lines, "QUEUES", queue_lines(snapshot));
  add_section(lines, "LAST FAILURES", failure_lines(snapshot, status_failures));
  if (auto silent = number(snapshot, "silent_parts"); silent > 0)
    add_section(lines, fmt::format("{:.0f} busy parts have not answered", silent), {""});
  return lines;
}

} // namespace fiber::cli
