// SPDX-License-Identifier: Apache-2.0
#include "backends/slurm/cluster.hpp"

#include <arpa/inet.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <sstream>

#include "backends/backend.hpp"
#include "backends/engine/spawn.hpp"
#include "fiber/detail/classic_locale.hpp"

namespace fiber::backends::slurm {

namespace {

/// Returns our numeric address after connecting a datagram socket, which sends nothing.
std::string address_on_route(const addrinfo& target) {
  UniqueFd socket(::socket(target.ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_storage own{};
  socklen_t size = sizeof own;
  auto* address = reinterpret_cast<sockaddr*>(&own);
  std::array<char, NI_MAXHOST> text{};
  if (!socket || ::connect(socket.get(), target.ai_addr, target.ai_addrlen) != 0 ||
      ::getsockname(socket.get(), address, &size) != 0 ||
      ::getnameinfo(address, size, text.data(), text.size(), nullptr, 0,
                    NI_NUMERICHOST) != 0)
    return {};
  return text.data();
}

std::string host_name() {
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  return name.data();
}

} // namespace

std::string config_value(const std::string& config, const std::string& key) {
  fiber::detail::Classic<std::istringstream> lines(config);
  for (std::string line; std::getline(lines, line);) {
    auto equals = line.find(" = ");
    if (equals == line.npos || line.substr(0, line.find(' ')) != key)
      continue;
    auto value = line.substr(equals + 3);
    return value.substr(0, value.find_last_not_of(' ') + 1);
  }
  return {};
}

std::string address_towards(const std::string& host) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(host.c_str(), "6817", &wanted, &found) != 0)
    return {};
  std::unique_ptr<addrinfo, void (*)(addrinfo*)> all(found, ::freeaddrinfo);
  for (auto* target = found; target; target = target->ai_next)
    if (auto address = address_on_route(*target); !address.empty())
      return address;
  return {};
}

ClusterInfo find_cluster(Commands& commands, const std::string& partition) {
  for (auto* command : {"sbatch", "squeue", "scancel", "scontrol", "sinfo"})
    if (find_in_path(command).empty())
      throw EngineError("find Slurm's commands", 0,
                        std::string(command) +
                          " is not on PATH; start this program on a login node, or load "
                          "the site's module for Slurm");
  auto config = commands.call({"scontrol", "show", "config"});
  if (!config.ok())
    throw EngineError("reach Slurm's controller", 0, config.problem());
  ClusterInfo info;
  info.name = config_value(config.output, "ClusterName");
  info.version = config_value(config.output, "SLURM_VERSION");
  fiber::detail::Classic<std::istringstream>(
    config_value(config.output, "MaxArraySize")) >>
    info.largest_array;
  info.largest_array = std::max<std::size_t>(info.largest_array, 2) - 1;
  // Jobs dial back from the nodes, so the address on the way to one of them is right.
  std::vector<std::string> words{"sinfo", "--noheader", "--Node", "--format=%o"};
  if (!partition.empty())
    words.push_back("--partition=" + partition);
  auto nodes = commands.call(std::move(words));
  fiber::detail::Classic<std::istringstream>(nodes.output) >> info.address;
  info.address = address_towards(info.address);
  if (info.address.empty())
    info.address = host_name();
  return info;
}

} // namespace fiber::backends::slurm
