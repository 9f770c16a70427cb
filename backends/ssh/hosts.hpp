// SPDX-License-Identifier: Apache-2.0
// ssh/ runs jobs on machines that the user reaches by ssh: an agent on each, started over
// one connection, forks them as the local backend does.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace fiber::backends::ssh {

/// Values of the setting ssh_hosts.
inline constexpr auto valid_hosts =
  "HOST or HOST:SLOTS, separated by commas, as in a:8,b:16; or the absolute path of a "
  "hostfile";

/// A host, as the user names it.
struct HostEntry {
  std::string name;          ///< For ssh: "a", "me@10.0.0.7", an alias of ~/.ssh/config.
  std::size_t slots = 0;     ///< Jobs that run there at once; 0: one for each cpu.
  std::size_t max_slots = 0; ///< When all hosts are full; 0: no more than `slots`.
};

/// Reads "a:8,b:16,c". Throws SettingError, which names `place`.
std::vector<HostEntry> parse_hosts(const std::string& text, const std::string& place);

/// Reads a file in the grammar of Open MPI's hostfiles: "HOST [slots=N] [max_slots=N]",
/// with comments that begin with '#'. Throws SettingError, which names the line.
std::vector<HostEntry> read_hostfile(const std::string& path);

} // namespace fiber::backends::ssh
