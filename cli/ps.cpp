// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include <CLI/CLI.hpp>

#include "cli/crashed.hpp"
#include "cli/engines/engine.hpp"
#include "cli/printable.hpp"
#include "cli/remote.hpp"
#include "cli/session_text.hpp"
#include "cli/sessions.hpp"
#include "cli/table.hpp"
#include "cli/totals.hpp"
#include "cli/verbs.hpp"

namespace fiber::cli {
namespace {

using nlohmann::json;

/// For what crashed sessions have left. Slurm's commands may take 20 s to fail.
constexpr std::chrono::milliseconds engine_patience{2000};

void add_snapshot(json& one, const json& snapshot) {
  auto about = snapshot.value("session", json::object());
  auto totals = totals_of(snapshot);
  one["program"] = about.value("program", "");
  one["backend"] = about.value("backend", "");
  one["started"] = about.value("started", "");
  one["age_seconds"] = about.value("age_seconds", 0.0);
  one["workers_up"] = totals.workers_up;
  one["workers_wanted"] = totals.workers_wanted;
  one["jobs"] = snapshot.value("jobs", json::array()).size();
  one["done"] = totals.done;
  one["failed"] = totals.failed;
  if (auto waits = wait_line(snapshot); !waits.empty())
    one["waits"] = waits;
  one["jobs_lost"] = about.value("jobs_lost", 0U);
}

/// A session in one row; `reply` is its snapshot, if it has answered.
json entry(const Session& session, const std::optional<json>& reply) {
  json one{{"name", session.name},
           {"pid", session.pid},
           {"answers", reply.has_value()},
           {"stopped", session.stopped},
           {"crashed", false}};
  if (reply)
    add_snapshot(one, *reply);
  return one;
}

json entry(const RemoteSession& session) {
  auto& driver = session.driver;
  json one{{"name", driver.name},       {"place", driver.place},
           {"id", driver.id},           {"backend", driver.engine},
           {"program", driver.program}, {"answers", session.snapshot.has_value()},
           {"stopped", false},          {"crashed", false}};
  if (session.snapshot)
    add_snapshot(one, *session.snapshot);
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
    auto place = one.contains("pid") ? std::to_string(one.value("pid", 0))
                                     : printable(one.value("place", ""));
    if (!one.value("answers", false)) {
      table.add({name, place, state_of(one), printable(one.value("backend", ""))});
      continue;
    }
    auto count = [&](const char* key) { return short_count(one.value(key, 0.0)); };
    table.add(
      {name, place,
       printable(std::filesystem::path(one.value("program", "")).filename().string()),
       printable(one.value("backend", "")), clock_time(one.value("age_seconds", 0.0)),
       count("workers_up") + "/" + count("workers_wanted"), count("jobs"), count("done"),
       count("failed"), count("jobs_lost")});
  }
  for (auto& line : table.lines())
    std::cout << line << "\n";
  for (auto& one : entries)
    if (one.contains("waits"))
      std::cout << printable(one.value("name", "")) << ": "
                << printable(one.value("waits", "")) << "\n";
  if (std::ranges::any_of(entries, [](auto& one) { return one.value("crashed", false); }))
    std::cout << "`fiber kill NAME` removes what a crashed session has left\n";
}

/// Says why an engine's sessions are missing, if the user expects some there.
void report(const SilentEngine& engine) {
  if (engine.hangs() || engine.name == chosen_backend())
    std::cerr << "fiber: the drivers on " << engine.name
              << " are not listed: " << engine.problem << std::endl;
}

void list_sessions(bool only_here, bool as_json) {
  std::optional<RemoteLookup> engines;
  if (!only_here)
    engines.emplace(RemoteLookup::Kind::snapshots, list_limit);
  auto sessions = all_sessions();
  auto replies = ask_all(sessions, {{"op", "status"}});
  std::vector<json> entries;
  std::set<std::string> seen;
  for (std::size_t i = 0; i < sessions.size(); ++i) {
    entries.push_back(entry(sessions[i], replies[i]));
    if (replies[i])
      seen.insert(id_of(*replies[i]));
  }
  for (auto& session : crashed_sessions(engine_patience))
    entries.push_back(entry(session));
  auto elsewhere = engines ? engines->read() : RemoteSessions();
  for (auto& session : elsewhere.sessions) // A node of Slurm may be this machine.
    if (!session.snapshot || !seen.contains(id_of(*session.snapshot)))
      entries.push_back(entry(session));
  if (as_json)
    std::cout << json(entries).dump(2) << "\n";
  else if (entries.empty())
    std::cout << "no sessions: no program that uses Fiber runs here under this user\n";
  else
    print(entries);
  for (auto& engine : elsewhere.silent)
    report(engine);
}

} // namespace

void add_ps(CLI::App& app) {
  auto* verb = app.add_subcommand(
    "ps", "List the sessions of this user: on this machine, and drivers that `fiber run` "
          "has started on engines");
  struct Options {
    bool only_here = false, as_json = false;
  };
  auto options = std::make_shared<Options>();
  verb->add_flag("--here", options->only_here, "Only drivers on this machine");
  verb->add_flag("--json", options->as_json, "Print JSON instead of a table");
  verb->footer(
    "WORKERS are those of pools: up/wanted. JOBS are all processes, containers "
    "and pods.\nLOST are jobs that ended unplanned; DONE and FAILED are tasks of "
    "pools.\n\nExamples:\n  fiber ps\n  fiber ps --json | jq '.[].name'");
  verb->callback([options] { list_sessions(options->only_here, options->as_json); });
}

} // namespace fiber::cli
