// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <cstdint>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/crashed.hpp"
#include "cli/engines/process_end.hpp"
#include "cli/sessions.hpp"
#include "cli/verbs.hpp"
#include "cli/whole_name.hpp"
#include "fiber/error.hpp"

namespace fiber::cli {
namespace {

using nlohmann::json;

constexpr std::chrono::milliseconds jobs_end{5000}; ///< After their driver.

struct StopOptions {
  std::string name;
  double seconds = 30;
  bool as_json = false;
};

void stop_session(const StopOptions& options) {
  if (auto crashed = crashed_if_none_lives(options.name)) {
    require_whole_name(options.name, *crashed);
    return clean_and_report(*crashed, options.as_json);
  }
  auto session = find_session(options.name);
  require_whole_name(options.name, session);
  auto driver = driver_of(session);
  auto processes = driver ? descendants_of(session.pid) : std::vector<Process>();
  auto jobs = ask(session, {{"op", "status"}}).value("jobs", json::array()).size();
  try {
    ask(session, {{"op", "stop"}});
  } catch (const Error&) { // The driver may end before it answers.
    if (!driver || !driver->await_end(jobs_end))
      throw;
  }
  auto limit =
    std::chrono::milliseconds(static_cast<std::int64_t>(options.seconds * 1000));
  auto ended = driver ? driver->await_end(limit) : await_closed(session, limit);
  if (!ended)
    throw Error(session.name + " (pid " + std::to_string(session.pid) +
                ") got SIGTERM and has not ended within " + json(options.seconds).dump() +
                " s; `fiber kill " + session.name + "` ends it at once");
  auto end = Clock::now() + jobs_end;
  std::size_t left = 0;
  for (auto& process : processes)
    left +=
      process.await_end(std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()))
        ? 0U
        : 1U;
  auto cleaned = clean_after(session);
  if (options.as_json)
    std::cout << json{{"name", session.name},
                      {"pid", session.pid},
                      {"jobs", jobs},
                      {"processes_left", left},
                      {"removed", cleaned.removed}}
                   .dump(2)
              << "\n";
  else
    std::cout << session.name << " (pid " << session.pid << ") has ended, and with it "
              << jobs << (jobs == 1 ? " job" : " jobs")
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
