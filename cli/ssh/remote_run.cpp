// SPDX-License-Identifier: Apache-2.0
#include "backends/ssh/hosts.hpp"
#include "backends/ssh/remote_driver.hpp"
#include "backends/ssh/ssh_backend.hpp"
#include "backends/ssh/ssh_settings.hpp"
#include "cli/engines/image.hpp"
#include "cli/ssh/ssh.hpp"
#include "fiber/error.hpp"
#include "libfiber/session/settings.hpp"

namespace fiber::cli::ssh {
namespace {

/// Returns the hosts of the jobs as a value of ssh_hosts: the driver's machine does not
/// have the hostfile.
std::string listed(const std::vector<backends::ssh::HostEntry>& hosts) {
  std::string list;
  for (auto& host : hosts) {
    if (host.max_slots != 0)
      throw Error(
        "the host " + host.name +
        " has max_slots, and a driver that --on starts elsewhere can't be told: "
        "remove max_slots from the hostfile");
    const bool bracket = host.name.find(':') != host.name.npos;
    list += (list.empty() ? "" : ",") + (bracket ? "[" + host.name + "]" : host.name);
    if (host.slots != 0)
      list += ":" + std::to_string(host.slots);
  }
  return list;
}

/// Throws Error if a program can't be told to start elsewhere: then it would run here.
void check_program(const std::string& path) {
  const auto bytes = bytes_of_program(path);
  if (bytes.find(backends::ssh::remote_driver_error) == bytes.npos)
    throw Error(path + " can't be run by --on: it is not linked with this version of "
                       "Fiber. Start other programs by ssh itself");
}

} // namespace

RunRequest started_here(const RunRequest& request) {
  auto refuse = [](bool given, const char* option) {
    if (given)
      throw Error(std::string(option) +
                  " does not go with --on: the driver is a process of that machine, and "
                  "its output is shown here");
  };
  refuse(request.detach, "--detach");
  refuse(!request.time.empty(), "--time");
  refuse_container_options(request);
  const auto on = backends::ssh::parse_hosts(request.on, "--on");
  if (on.size() != 1 || on.front().slots != 0)
    throw Error("--on " + request.on +
                ": wanted is one host, as you would give it to ssh");
  backends::ssh::RemoteDriver driver{.host = on.front().name,
                                     .environment = carried_settings()};
  for (auto& [name, value] : request.environment)
    driver.environment[name] = value;
  driver.environment["FIBER_BACKEND"] = request.backend;
  backends::BackendOptions settings{.values = resolve({}).backend_values};
  auto& hosts = settings.values["ssh_hosts"];
  if (request.backend == "ssh") {
    if (auto given = request.environment.find("FIBER_SSH_HOSTS");
        given != request.environment.end())
      hosts = given->second;
    driver.environment["FIBER_SSH_HOSTS"] =
      listed(backends::ssh_options_of(settings).hosts);
  }
  hosts = request.on;
  const auto options = backends::ssh_options_of(settings);
  backends::check_ssh_command(options);
  driver.command = options.command;
  driver.directory = options.directory;
  auto local = request;
  local.command.front() = find_program(request.command.front());
  check_program(local.command.front());
  local.environment = {{"FIBER_NODE", node_variable(driver)}};
  return local;
}

} // namespace fiber::cli::ssh
