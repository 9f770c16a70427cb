// SPDX-License-Identifier: Apache-2.0
#include "backends/registry.hpp"
#include "backends/ssh/agent.hpp"
#include "backends/ssh/remote_driver.hpp"
#include "backends/ssh/ssh_settings.hpp"

namespace fiber::backends {
namespace {

std::optional<JobEntry> enter_role(const std::string& role, const std::string& rest) {
  if (role == ssh::agent_role)
    ssh::run_agent(rest);
  if (role == ssh::remote_driver_role)
    ssh::run_remote_driver(rest);
  return {};
}

bool is_command(const std::string& text) {
  return text.find_first_not_of(" \t") != text.npos;
}

bool is_host_folder(const std::string& text) {
  return (text.starts_with('/') || text == "~" || text.starts_with("~/")) &&
         text.find('\n') == text.npos;
}

bool is_given(const std::string& text) {
  return !text.empty();
}

std::unique_ptr<Backend> make_ssh_backend(const BackendOptions& options) {
  return make_ssh(ssh_options_of(options));
}

} // namespace

BackendKind ssh_kind() {
  return {.name = "ssh",
          .keys = {{"ssh_hosts", ssh::valid_hosts, is_given},
                   {"ssh_hostfile", "the path of a hostfile, as for mpirun", is_given},
                   {"ssh_command", "ssh, with options: ssh -F FILE", is_command},
                   {"ssh_directory",
                    "a folder on the hosts: an absolute path, or one that begins with ~/",
                    is_host_folder},
                   {"ssh_tunnel", "auto, always, never", is_ssh_tunnel}},
          .detect = [] { return std::string(); },
          .make = make_ssh_backend,
          .enter = enter_role};
}

} // namespace fiber::backends
