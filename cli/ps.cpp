// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <memory>

#include <CLI/CLI.hpp>

#include "cli/crashed.hpp"
#include "cli/printable.hpp"
#include "cli/sessions.hpp"
#include "cli/table.hpp"
#include "cli/totals.hpp"
#include "cli/verbs.hpp"

namespace fiber::cli {
namespace {

using nlohmann::json;

/// For what crashed sessions have left. Slurm's commands may take 20 s to fail.
constexpr std::chrono::milliseconds engine_patience{2000};

/// A session in one row; `reply` is its snapshot, if it has answered.
json entry(const Session& session, const std::optional<json>& reply) {
  json one{{"name", session.name},
           {"pid", session.pid},
           {"answers", reply.has_value()},
           {"stopped", session.stopped},
           {"crashed", false}};
  if (!reply)
    return one;
  auto about = reply->value("session", json::object());
  auto totals = totals_of(*reply);
  one["program"] = about.value("program", "");
  one["backend"] = about.value("backend", "");
  one["started"] = about.value("started", "");
  one["age_seconds"] = about.value("age_seconds", 0.0);
  one["workers_up"] = totals.workers_up;
  one["workers_wanted"] = totals.workers_wanted;
  one["jobs"] = reply->value("jobs", json::array()).size();
  one["done"] = totals.done;
  one["failed"] = totals.failed;
  one["jobs_lost"] = about.value("jobs_lost", 0U);
  return one;
}

json entry(const Crashed& session) {
  json one{{"name", session.name},
           {"pid", session.pid},
           {"answers", false},
           {"stopped", false},
           {"crashed", true},
           {"program", session.note.program},
           {"backend", session.note.backend},
           {"started", session.note.started},
           {"left", session.left}};
  if (!session.problem.empty())
    one["problem"] = session.problem;
  return one;
}

/// Returns what the table says of a session that does not answer.
std::string state_of(const json& one) {
  if (!one.value("crashed", false))
    return one.value("stopped", false) ? "not answering (stopped)" : "not answering";
  return one.contains("problem")
           ? "crashed, left ?"
           : "crashed, left " + std::to_string(one.at("left").size());
}

void print(const std::vector<json>& entries) {
  Table table({"NAME", ">PID", "PROGRAM", "BACKEND", ">AGE", ">WORKERS", ">JOBS", ">DONE",
               ">FAILED", ">LOST"});
  for (auto& one : entries) {
    auto name = printable(one.value("name", ""));
    auto pid = std::to_string(one.value("pid", 0));
    if (!one.value("answers", false)) {
      table.add({name, pid, state_of(one), printable(one.value("backend", ""))});
      continue;
    }
    auto count = [&](const char* key) { return short_count(one.value(key, 0.0)); };
    table.add(
      {name, pid,
       printable(std::filesystem::path(one.value("program", "")).filename().string()),
       printable(one.value("backend", "")), clock_time(one.value("age_seconds", 0.0)),
       count("workers_up") + "/" + count("workers_wanted"), count("jobs"), count("done"),
       count("failed"), count("jobs_lost")});
  }
  for (auto& line : table.lines())
    std::cout << line << "\n";
  if (std::ranges::any_of(entries, [](auto& one) { return one.value("crashed", false); }))
    std::cout << "`fiber kill NAME` removes what a crashed session has left\n";
}

void list_sessions(bool as_json) {
  auto sessions = all_sessions();
  auto replies = ask_all(sessions, {{"op", "status"}});
  std::vector<json> entries;
  for (std::size_t i = 0; i < sessions.size(); ++i)
    entries.push_back(entry(sessions[i], replies[i]));
  for (auto& session : crashed_sessions(engine_patience))
    entries.push_back(entry(session));
  if (as_json)
    std::cout << json(entries).dump(2) << "\n";
  else if (entries.empty())
    std::cout << "no sessions: no program that uses Fiber runs here under this user\n";
  else
    print(entries);
}

} // namespace

void add_ps(CLI::App& app) {
  auto* verb = app.add_subcommand("ps", "List the sessions of this user on this machine");
  auto as_json = std::make_shared<bool>(false);
  verb->add_flag("--json", *as_json, "Print JSON instead of a table");
  verb->footer(
    "WORKERS are those of pools: up/wanted. JOBS are all processes, containers "
    "and pods.\nLOST are jobs that ended unasked; DONE and FAILED are tasks of "
    "pools.\n\nExamples:\n  fiber ps\n  fiber ps --json | jq '.[].name'");
  verb->callback([as_json] { list_sessions(*as_json); });
}

} // namespace fiber::cli
