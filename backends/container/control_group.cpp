// SPDX-License-Identifier: Apache-2.0
#include "backends/container/control_group.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "fiber/detail/classic_locale.hpp"

namespace fiber::backends {

// Parses lines such as "0::/user.slice/job" and "4:cpu,cpuacct:/job". A container may see
// names of the host's groups, which do not exist in it; then the top is its own group.
std::vector<std::string> control_groups(const std::string& controller,
                                        const std::string& root) {
  std::vector<std::string> folders;
  fiber::detail::Classic<std::ifstream> groups(root + "/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    auto first = line.find(':'), second = line.find(':', first + 1);
    if (second == line.npos)
      continue;
    auto named = line.substr(first + 1, second - first - 1);
    auto group = line.substr(second + 1);
    auto top = root + "/sys/fs/cgroup";
    if (!named.empty()) { // Version 1.
      if (("," + named + ",").find("," + controller + ",") == named.npos)
        continue;
      top += "/" + controller;
    }
    for (; group.starts_with('/') && group != "/"; group.resize(group.rfind('/')))
      folders.push_back(top + group);
    folders.push_back(top);
  }
  return folders;
}

std::optional<std::uint64_t> out_of_memory_kills(const std::string& root) {
  const auto folders = control_groups("memory", root);
  auto own = std::ranges::find_if(folders, [](const std::string& folder) {
    std::error_code error;
    return std::filesystem::exists(folder, error);
  });
  if (own == folders.end())
    return {};
  for (auto* name : {"/memory.events", "/memory.oom_control"}) { // Versions 2 and 1.
    fiber::detail::Classic<std::ifstream> file(*own + name);
    std::string key;
    for (std::uint64_t count = 0; file >> key >> count;)
      if (key == "oom_kill")
        return count;
  }
  return {};
}

} // namespace fiber::backends
