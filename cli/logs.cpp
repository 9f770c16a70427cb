// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

#include <CLI/CLI.hpp>

#include "cli/job_log.hpp"
#include "cli/printable.hpp"
#include "cli/remote.hpp"
#include "cli/sessions.hpp"
#include "cli/verbs.hpp"
#include "fiber/error.hpp"

namespace fiber::cli {
namespace {

using nlohmann::json;

constexpr std::chrono::milliseconds follow_interval{300}, driver_interval{1000};
constexpr auto driver_job = "driver"; ///< No job has this name.

struct LogOptions {
  std::string name, job;
  bool follow = false, as_json = false;
};

/// Prints text; what a program prints must not command a terminal.
void print_output(const std::string& text, const std::string& prefix) {
  auto plain = ::isatty(STDOUT_FILENO) != 0 ? printable(text, true) : text;
  if (prefix.empty()) {
    std::cout << plain << std::flush;
    return;
  }
  for (std::size_t from = 0; from < plain.size();) {
    auto end = std::min(plain.find('\n', from), plain.size());
    std::cout << "[" << prefix << "] " << plain.substr(from, end - from) << "\n";
    from = end + 1;
  }
  std::cout << std::flush;
}

/// Says why nothing is there, where the output of jobs does not go.
void say_that_nothing_is_there(const Session& session, const std::string& whose) {
  std::cerr << "fiber: " << whose << " of " << session.name << " printed nothing; "
            << (session.remote
                  ? "`fiber logs " + session.name +
                      " driver` prints the output of the driver itself"
                  : "the output of the driver itself is where it was started")
            << std::endl;
}

/// Returns the driver of this name on an engine, also one that has ended: one that runs,
/// or else the latest. Throws Error if there is none.
RemoteDriver find_driver(const std::string& name) {
  constexpr std::chrono::milliseconds patience{10000};
  auto told = RemoteLookup(RemoteLookup::Kind::ended_too, patience).read();
  std::vector<Session> drivers;
  for (auto& found : told.sessions)
    drivers.push_back({.name = found.driver.name, .remote = found.driver});
  auto named = called(name, drivers);
  if (named.empty())
    throw Error(
      title_of(find_session(name)) +
      " runs on this machine; the output of its driver is where it was started");
  std::ranges::stable_partition(named, [](auto& each) { return each.remote->ended; });
  return *named.back().remote;
}

/// The engine has no way to return only what is new.
void follow_driver(const LogOptions& options) {
  auto driver = find_driver(options.name);
  for (std::size_t shown = 0;;) {
    bool over = driver.ended || !options.follow || driver_has_ended(driver);
    auto text = output_of_driver(driver);
    print_output(text.substr(std::min(shown, text.size())), "");
    shown = text.size();
    if (over)
      return;
    std::this_thread::sleep_for(driver_interval);
  }
}

void follow_one(Session& session, const LogOptions& options) {
  JobLog log(options.job);
  bool any = false;
  for (;;) {
    auto more = log.read(session);
    print_output(more, "");
    any = any || !more.empty();
    if (!options.follow || log.has_ended()) {
      if (!any)
        say_that_nothing_is_there(session, printable(options.job));
      return;
    }
    std::this_thread::sleep_for(follow_interval);
  }
}

void follow_all(Session& session, const LogOptions& options) {
  std::map<std::string, JobLog> logs;
  bool any = false;
  for (;;) {
    auto jobs = ask(session, {{"op", "logs"}});
    for (auto* list : {"ended", "jobs"})
      for (auto& job : jobs.value(list, json::array())) {
        auto name = job.get<std::string>();
        auto& log = logs.try_emplace(name, name).first->second;
        if (log.has_ended())
          continue;
        auto text = log.read(session);
        any = any || !text.empty();
        print_output(text, printable(name));
      }
    if (!options.follow) {
      if (!any)
        say_that_nothing_is_there(session, "the jobs");
      return;
    }
    std::this_thread::sleep_for(follow_interval);
  }
}

void show_logs(const LogOptions& options) {
  if (options.job == driver_job && !options.as_json)
    return follow_driver(options);
  auto session = find_session(options.name);
  if (options.as_json) {
    json request{{"op", "logs"}};
    if (!options.job.empty())
      request["job"] = options.job;
    std::cout << ask(session, request, log_limit).dump(2) << "\n";
    return;
  }
  try {
    if (options.job.empty())
      follow_all(session, options);
    else
      follow_one(session, options);
  } catch (const Error&) {
    // The end of the session ends what was followed.
    if (!options.follow || is_alive(session))
      throw;
  }
}

} // namespace

void add_logs(CLI::App& app) {
  auto* verb = app.add_subcommand("logs", "Print the output of the jobs of a session");
  auto options = std::make_shared<LogOptions>();
  verb->add_option("NAME", options->name, name_help)->required();
  verb->add_option("JOB", options->job,
                   "A job (pool1.w0-3), or a worker, which means its latest job "
                   "(pool1.w0), or `driver`, if `fiber run` has started it on an engine. "
                   "Default: all jobs, with their names before each line");
  verb->add_flag("-f,--follow", options->follow,
                 "Go on with what is printed, until the job or the session ends");
  auto* as_json = verb->add_flag("--json", options->as_json, "Print JSON");
  as_json->excludes("--follow");
  verb->footer(
    "The end of the output of a job that has ended is kept, 64 KiB of each and "
    "2 MiB of all.\n\nExamples:\n  fiber logs train\n"
    "  fiber logs train pool1.w0 -f\n"
    "  fiber logs train driver");
  verb->callback([options] { show_logs(*options); });
}

} // namespace fiber::cli
