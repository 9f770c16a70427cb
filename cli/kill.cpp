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
#include "cli/remote.hpp"
#include "cli/sessions.hpp"
#include "cli/verbs.hpp"
#include "fiber/error.hpp"

namespace fiber::cli {
namespace {

using nlohmann::json;

constexpr std::chrono::milliseconds jobs_limit{4000}; ///< For the session's own part.
constexpr std::chrono::milliseconds driver_end{5000}, remote_driver_end{40000};
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

/// What was ended with a driver.
struct Killed {
  std::optional<std::size_t> jobs; ///< Nothing: the session did not answer.
  std::size_t processes = 0, processes_killed = 0;
  Cleaned cleaned = {};
};

[[noreturn]] void fail_to_end(const Session& session, const char* why) {
  throw Error(title_of(session) + " was killed and has not ended" + why);
}

Killed kill_here(Session& session) {
  auto driver = driver_of(session);
  if (!driver)
    throw Error(session.name +
                ": its driver is no process of this machine, or of another "
                "container; kill it there");
  auto processes = descendants_of(session.pid);
  Killed killed{.jobs = end_jobs(session), .processes = processes.size()};
  driver->send(SIGKILL);
  if (!driver->await_end(driver_end))
    fail_to_end(session, ": it waits for a device");
  auto end = Clock::now() + processes_end;
  for (auto& process : processes)
    if (!process.await_end(
          std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()))) {
      process.send(SIGKILL);
      ++killed.processes_killed;
    }
  ::unlink(session.path.c_str());
  killed.cleaned = clean_after(session);
  return killed;
}

Killed kill_elsewhere(Session& session) {
  std::string id;
  try {
    id = id_of(ask(session, {{"op", "status"}}));
  } catch (const Error&) { // It hangs. Its jobs end when they miss their driver.
  }
  Killed killed{.jobs = id.empty() ? std::nullopt : end_jobs(session)};
  kill_driver(*session.remote);
  if (!await_closed(session, remote_driver_end))
    fail_to_end(session, "");
  killed.cleaned = clean_after(*session.remote, id);
  return killed;
}

std::string text_of(const Killed& killed) {
  if (killed.jobs)
    return ", and with it " + std::to_string(*killed.jobs) +
           (*killed.jobs == 1 ? " job" : " jobs");
  return killed.processes > 0
           ? ", and with it " + std::to_string(killed.processes) + " processes"
           : "; its jobs end when they miss it";
}

void kill_session(const std::string& name, bool as_json) {
  if (auto crashed = crashed_if_none_lives(name))
    return clean_and_report(*crashed, as_json);
  auto session = find_session(name, NameMatch::whole);
  auto killed = session.remote ? kill_elsewhere(session) : kill_here(session);
  if (as_json) {
    auto told = json_title(session);
    told.update({{"answered", killed.jobs.has_value()},
                 {"jobs", killed.jobs.value_or(0)},
                 {"processes", killed.processes},
                 {"processes_killed", killed.processes_killed},
                 {"removed", killed.cleaned.removed}});
    std::cout << told.dump(2) << "\n";
  } else
    std::cout << title_of(session) << " was killed" << text_of(killed)
              << text_of_removed(killed.cleaned.removed) << "\n";
  if (!killed.cleaned.problem.empty())
    throw Error(killed.cleaned.problem);
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
