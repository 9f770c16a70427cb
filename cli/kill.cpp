// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <csignal>
#include <cstdint>
#include <iostream>
#include <memory>
#include <optional>
#include <string>

#include <unistd.h>

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

constexpr std::chrono::milliseconds jobs_limit{4000}; ///< For the session's own part.
constexpr std::chrono::milliseconds driver_end{5000};
constexpr std::chrono::milliseconds processes_end{2000}; ///< They end by themselves.

/// Lets the session end its jobs, wherever they are. Returns how many there were, or
/// nothing if it does not answer.
std::optional<std::size_t> end_jobs(Session& session) {
  try {
    return ask(session, {{"op", "kill"}}, jobs_limit).value("jobs", std::size_t{0});
  } catch (const Error&) {
    return std::nullopt;
  }
}

void kill_session(const std::string& name, bool as_json) {
  if (auto crashed = crashed_if_none_lives(name)) {
    require_whole_name(name, *crashed);
    return clean_and_report(*crashed, as_json);
  }
  auto session = find_session(name);
  require_whole_name(name, session);
  auto driver = driver_of(session);
  if (!driver)
    throw Error(session.name +
                ": its driver is no process of this machine, or of another "
                "container; kill it there");
  auto processes = descendants_of(session.pid);
  auto jobs = end_jobs(session);
  driver->send(SIGKILL);
  if (!driver->await_end(driver_end))
    throw Error(session.name + " (pid " + std::to_string(session.pid) +
                ") was killed and has not ended: it waits for a device");
  auto end = Clock::now() + processes_end;
  std::size_t killed = 0;
  for (auto& process : processes)
    if (!process.await_end(
          std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()))) {
      process.send(SIGKILL);
      ++killed;
    }
  ::unlink(session.path.c_str());
  auto cleaned = clean_after(session);
  if (as_json)
    std::cout << json{{"name", session.name},          {"pid", session.pid},
                      {"answered", jobs.has_value()},  {"jobs", jobs.value_or(0)},
                      {"processes", processes.size()}, {"processes_killed", killed},
                      {"removed", cleaned.removed}}
                   .dump(2)
              << "\n";
  else
    std::cout << session.name << " (pid " << session.pid << ") was killed, and with it "
              << (jobs ? std::to_string(*jobs) + (*jobs == 1 ? " job" : " jobs")
                       : std::to_string(processes.size()) + " processes")
              << text_of_removed(cleaned.removed) << "\n";
  if (!cleaned.problem.empty())
    throw Error(cleaned.problem);
}

} // namespace

void add_kill(CLI::App& app) {
  auto* verb = app.add_subcommand(
    "kill", "End a session and all that it has started, at once and by force");
  struct Options {
    std::string name;
    bool as_json = false;
  };
  auto options = std::make_shared<Options>();
  verb
    ->add_option("NAME", options->name,
                 "The session: its whole name, or NAME:PID; see `fiber ps`")
    ->required();
  verb->add_flag("--json", options->as_json, "Print JSON");
  verb->footer(
    "Nothing is saved. A driver that answers ends its jobs first, also containers and "
    "pods. One that\ndoes not answer, since it hangs or is stopped, is killed with its "
    "processes, and its containers,\npods and Slurm jobs are removed. What a crashed "
    "driver has left is removed too.\n\nExamples:\n  fiber kill train\n  fiber kill "
    "train:4711");
  verb->callback([options] { kill_session(options->name, options->as_json); });
}

} // namespace fiber::cli
