// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <ctime>
#include <sstream>

#include "backends/engine/child_process.hpp"
#include "backends/ssh/remote_shell.hpp"
#include "backends/ssh/ssh_backend.hpp"
#include "backends/ssh/ssh_command.hpp"
#include "backends/ssh/ssh_settings.hpp"
#include "cli/engines/open_files.hpp"
#include "cli/engines/probe.hpp"
#include "cli/ssh/ssh.hpp"
#include "fiber/detail/classic_locale.hpp"
#include "libfiber/session/settings.hpp"

namespace fiber::cli::ssh {
namespace {

constexpr auto engine_name = "ssh";
constexpr std::chrono::seconds command_limit(30);
constexpr double wanted_megabytes = 200, wanted_seconds = 5;

/// Prints "machine MACHINE", "library GNU-C-LIBRARY", "time SECONDS" and the end of df's
/// table for the folder of copies, or for the one above that is there.
std::string facts_command(const std::string& directory) {
  return "exec /bin/sh -c '" + backends::ssh::set_folder(directory) +
         "; until [ -e \"$d\" ]; do d=$(dirname \"$d\"); done; "
         "echo machine $(uname -m); echo library $(getconf GNU_LIBC_VERSION); "
         "echo time $(date +%s); echo cpus $(getconf _NPROCESSORS_ONLN); "
         "echo room $(df -Pk \"$d\" | tail -n 1)'";
}

/// Returns what follows `key` in the line that begins with it.
std::string fact(const std::string& facts, const std::string& key) {
  fiber::detail::Classic<std::istringstream> lines(facts);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with(key + " "))
      return line.substr(key.size() + 1);
  return {};
}

std::string advice_for(const std::string& problem) {
  if (problem.find("dial") != problem.npos || problem.find("reach") != problem.npos)
    return "set ssh_tunnel=auto, so that jobs that can't connect to this machine use the "
           "connection of ssh; or set advertise_address";
  return {};
}

class Diagnosis {
public:
  Diagnosis(const DoctorRequest& request, Report& report)
    : request_(request), report_(report) {}

  void make() {
    check_open_files(engine_name, backends::ssh::descriptors_per_job, usual_jobs,
                     report_);
    if (!report_.check(engine_name, "hosts", [this] { return read_settings(); }))
      return;
    for (auto& host : options_.hosts)
      check_host(host.name);
  }

private:
  std::string read_settings() {
    backends::BackendOptions given;
    given.values = resolve({}).backend_values;
    try {
      options_ = backends::ssh_options_of(given);
      backends::check_ssh_command(options_);
    } catch (const backends::EngineError& error) {
      throw Trouble(error.what(), "make ssh run here");
    } catch (const backends::SettingError& error) {
      throw Trouble(error.what(),
                    "name hosts by FIBER_SSH_HOSTS=a:8,b:16, or a file of them by "
                    "FIBER_SSH_HOSTFILE");
    }
    std::string names;
    for (auto& host : options_.hosts)
      names += (names.empty() ? "" : ", ") + host.name;
    return names;
  }

  void check_host(const std::string& host) {
    const auto name = [&](const char* what) { return host + ": " + what; };
    if (!report_.check(engine_name, name("ssh"), [&] { return reach(host); }) ||
        !report_.check(engine_name, name("room"), [&] { return look_at_room(); }))
      return;
    report_.check(engine_name, name("clock"), [this] { return compare_clocks(); });
    Config config;
    config.backend = engine_name;
    config.start_deadline = request_.deadline;
    config.more["ssh_hosts"] = host;
    probe(engine_name, config, report_, advice_for);
  }

  /// Runs a command there, with a connection of its own.
  std::string reach(const std::string& host) {
    const backends::ssh::SshCommand ssh{.words = options_.command, .control = "none"};
    const auto asked = std::time(nullptr);
    const auto result = backends::run_child(backends::command_of(
      ssh.run(host, facts_command(options_.directory)), command_limit));
    asked_ = asked;
    answered_ = std::time(nullptr);
    if (!backends::failure(result, command_limit).empty())
      throw Trouble(ssh.problem(host, result.errors, result.exit_code),
                    "make `ssh " + host + " true` work without a question");
    facts_ = result.output;
    return fact(facts_, "machine") + ", " + fact(facts_, "cpus") + " CPUs, " +
           fact(facts_, "library");
  }

  std::string look_at_room() const {
    fiber::detail::Classic<std::istringstream> row(fact(facts_, "room"));
    std::string device, size, used, place;
    double kilobytes = 0;
    row >> device >> size >> used >> kilobytes >> place >> place;
    const auto megabytes = std::floor(kilobytes / 1024);
    fiber::detail::Classic<std::ostringstream> words;
    words << megabytes << " MB are free on " << place;
    if (megabytes < wanted_megabytes)
      throw Trouble(words.str(), "the copies of programs need some 200 MB: make room, or "
                                 "set ssh_directory");
    return words.str();
  }

  std::string compare_clocks() const {
    fiber::detail::Classic<std::istringstream> text(fact(facts_, "time"));
    double there = 0;
    text >> there;
    const auto early = static_cast<double>(asked_) - wanted_seconds,
               late = static_cast<double>(answered_) + wanted_seconds;
    if (there < early || there > late)
      throw Trouble("its clock differs from this machine's by more than 5 s",
                    "let both follow a time server: logs and traces compare their times");
    return "agrees with this machine's within 5 s";
  }

  const DoctorRequest& request_;
  Report& report_;
  backends::SshOptions options_;
  std::string facts_;
  std::time_t asked_ = 0, answered_ = 0;
};

} // namespace

void diagnose(const DoctorRequest& request, Report& report) {
  Diagnosis(request, report).make();
}

} // namespace fiber::cli::ssh
