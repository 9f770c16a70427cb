// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/crashed.hpp"
#include "cli/engines/process_end.hpp"
#include "cli/sessions.hpp"
#include "cli/verbs.hpp"
#include "fiber/error.hpp"

namespace fiber::cli {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;

constexpr milliseconds jobs_end{5000}; ///< After their driver.

struct StopOptions {
  std::string name;
  double seconds = 30;
  bool as_json = false;
};

/// What a session was before its end.
struct Ending {
  std::string id; ///< Of the session on its engine.
  std::size_t jobs = 0;
};

/// Asks the session to stop and waits until its driver has ended. Throws Error if that
/// takes too long.
Ending await_end_of(Session& session, const std::optional<Process>& driver,
                    milliseconds limit) {
  auto snapshot = ask(session, {{"op", "status"}});
  Ending ending{.id = id_of(snapshot),
                .jobs = snapshot.value("jobs", json::array()).size()};
  auto ends_in = [&](milliseconds time) {
    return driver ? driver->await_end(time) : await_closed(session, time);
  };
  try {
    ask(session, {{"op", "stop"}});
  } catch (const Error&) { // The driver may end before it answers.
    if (!(driver || session.remote) || !ends_in(jobs_end))
      throw;
  }
  if (!ends_in(limit))
    throw Error(title_of(session) + " got SIGTERM and has not ended within " +
                json(limit.count() / 1000.0).dump() + " s; `fiber kill " + session.name +
                "` ends it at once");
  return ending;
}

/// Waits until processes have ended. Returns how many still run.
std::size_t await_processes(const std::vector<Process>& processes) {
  auto end = Clock::now() + jobs_end;
  return static_cast<std::size_t>(std::ranges::count_if(processes, [&](auto& process) {
    return !process.await_end(std::chrono::ceil<milliseconds>(end - Clock::now()));
  }));
}

void stop_session(const StopOptions& options) {
  if (auto crashed = crashed_if_none_lives(options.name))
    return clean_and_report(*crashed, options.as_json);
  auto session = find_session(options.name, NameMatch::whole);
  auto driver = session.remote ? std::nullopt : driver_of(session);
  auto processes = driver ? descendants_of(session.pid) : std::vector<Process>();
  auto ending = await_end_of(
    session, driver, milliseconds(static_cast<std::int64_t>(options.seconds * 1000)));
  auto left = await_processes(processes);
  auto cleaned =
    session.remote ? clean_after(*session.remote, ending.id) : clean_after(session);
  if (options.as_json) {
    auto told = json_title(session);
    told.update(
      {{"jobs", ending.jobs}, {"processes_left", left}, {"removed", cleaned.removed}});
    std::cout << told.dump(2) << "\n";
  } else
    std::cout << title_of(session) << " has ended, and with it " << ending.jobs
              << (ending.jobs == 1 ? " job" : " jobs")
              << (left > 0 ? "; " + std::to_string(left) + " processes still run" : "")
              << text_of_removed(cleaned.removed) << "\n";
  if (!cleaned.problem.empty())
    throw Error(cleaned.problem);
}

} // namespace

void add_stop(CLI::App& app) {
  auto* verb = app.add_subcommand(
    "stop", "Send the driver of a session SIGTERM and wait until it has ended");
  auto options = std::make_shared<StopOptions>();
  verb
    ->add_option("NAME", options->name,
                 "The session: its whole name, or NAME:PID; see `fiber ps`")
    ->required();
  verb->add_option("--timeout", options->seconds, "How many seconds to wait")
    ->check(CLI::Range(0.0, 1e6))
    ->capture_default_str();
  verb->add_flag("--json", options->as_json, "Print JSON");
  verb->footer(
    "A program that handles SIGTERM can save its work first; any other ends at "
    "once. Its jobs end\nwith it. Exit code 1: it has not ended in time. Also removes "
    "what a crashed\ndriver has left, as `fiber kill` does.\n\n"
    "Examples:\n  fiber stop train\n  fiber stop train --timeout 300");
  verb->callback([options] { stop_session(*options); });
}

} // namespace fiber::cli
