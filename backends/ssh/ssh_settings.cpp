// SPDX-License-Identifier: Apache-2.0
#include "backends/ssh/ssh_settings.hpp"

#include <algorithm>
#include <array>

namespace fiber::backends {

namespace {

constexpr std::array tunnels{"auto", "always", "never"}; // In the order of SshTunnel.

std::vector<ssh::HostEntry> hosts_of(const BackendOptions& options) {
  const auto list = options.value("ssh_hosts");
  if (list.starts_with('/'))
    return ssh::read_hostfile(list);
  if (!list.empty())
    return ssh::parse_hosts(list, "settings");
  if (auto file = options.value("ssh_hostfile"); !file.empty())
    return ssh::read_hostfile(file);
  throw SettingError("ssh_hosts", "settings",
                     "ssh_hosts=HOST:SLOTS,... or ssh_hostfile=PATH",
                     "the backend ssh needs hosts, and none are set");
}

} // namespace

SshOptions ssh_options_of(const BackendOptions& options) {
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
  ssh.hide_gpus = options.hide_gpus;
  ssh.forward_output = options.forward_output;
  ssh.terminal = options.terminal;
  ssh.session = options.session;
  ssh.lease = options.lease;
  return ssh;
}

bool is_ssh_tunnel(const std::string& text) {
  return std::ranges::find(tunnels, text) != tunnels.end();
}

} // namespace fiber::backends
