// SPDX-License-Identifier: Apache-2.0
#include "backends/slurm/cluster.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <sstream>

#include "backends/backend.hpp"
#include "backends/engine/route.hpp"
#include "backends/engine/spawn.hpp"
#include "fiber/detail/classic_locale.hpp"

namespace fiber::backends::slurm {

namespace {

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
