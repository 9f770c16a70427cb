// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <sstream>

#include "backends/registry.hpp"
#include "backends/ssh/agent.hpp"
#include "backends/ssh/ssh_backend.hpp"
#include "fiber/detail/classic_locale.hpp"

namespace fiber::backends {
namespace {

constexpr std::array tunnels{"auto", "always", "never"}; // In the order of SshTunnel.

std::vector<std::string> words_of(const std::string& text) {
  fiber::detail::Classic<std::istringstream> stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;)
    words.push_back(word);
  return words;
}

std::vector<ssh::HostEntry> hosts_of(const BackendOptions& options) {
  const auto list = options.value("ssh_hosts"), file = options.value("ssh_hostfile");
  if (list.empty() == file.empty())
    throw SettingError("ssh_hosts", "settings",
                       "ssh_hosts=HOST:SLOTS,... or ssh_hostfile=PATH",
                       list.empty() ? "the backend ssh needs hosts, and neither is set"
                                    : "ssh_hosts and ssh_hostfile are both set");
  return list.empty() ? ssh::read_hostfile(file) : ssh::parse_hosts(list, "settings");
}

std::unique_ptr<Backend> make_ssh_backend(const BackendOptions& options) {
  SshOptions ssh;
  ssh.hosts = hosts_of(options);
  if (auto command = options.value("ssh_command"); !command.empty())
    ssh.command = words_of(command);
  if (auto directory = options.value("ssh_directory"); !directory.empty())
    ssh.directory = directory;
  if (const auto* found = std::ranges::find(tunnels, options.value("ssh_tunnel"));
      found != tunnels.end())
    ssh.tunnel = static_cast<SshTunnel>(found - tunnels.begin());
  ssh.environment = options.environment;
  ssh.forward_output = options.forward_output;
  ssh.terminal = options.terminal;
  ssh.session = options.session;
  ssh.lease = options.lease;
  return make_ssh(ssh);
}

std::optional<JobEntry> enter_agent(const std::string& role, const std::string& number) {
  if (role == ssh::agent_role)
    ssh::run_agent(number);
  return {};
}

bool is_command(const std::string& text) {
  return !words_of(text).empty();
}

bool is_host_folder(const std::string& text) {
  return (text.starts_with('/') || text == "~" || text.starts_with("~/")) &&
         text.find('\n') == text.npos;
}

bool is_given(const std::string& text) {
  return !text.empty();
}

bool is_tunnel(const std::string& text) {
  return std::ranges::find(tunnels, text) != tunnels.end();
}

} // namespace

BackendKind ssh_kind() {
  return {
    .name = "ssh",
    .keys = {{"ssh_hosts", "HOST or HOST:SLOTS, separated by commas, as in a:8,b:16",
              ssh::are_hosts},
             {"ssh_hostfile", "the path of a hostfile, as for mpirun", is_given},
             {"ssh_command", "ssh, with options: ssh -F FILE", is_command},
             {"ssh_directory",
              "a folder on the hosts: an absolute path, or one that begins with ~/",
              is_host_folder},
             {"ssh_tunnel", "auto, always, never", is_tunnel}},
    .detect = [] { return std::string(); },
    .make = make_ssh_backend,
    .enter = enter_agent};
}

} // namespace fiber::backends
