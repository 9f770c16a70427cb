// SPDX-License-Identifier: Apache-2.0
#include "tests/e2e/faults/control_group.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include <unistd.h>

namespace fiber::e2e {
namespace {

namespace fs = std::filesystem;

bool write_to(const fs::path& file, const std::string& text) {
  std::ofstream out(file);
  out << text << std::flush;
  return static_cast<bool>(out);
}

/// Where this process is in the hierarchy of a controller of version 1, or, if there is
/// none by that name, in that of version 2.
fs::path own_group(const std::string& controller, bool& is_v1) {
  std::ifstream lines("/proc/self/cgroup");
  fs::path unified;
  for (std::string line; std::getline(lines, line);) {
    auto first = line.find(':'), second = line.find(':', first + 1);
    auto name = line.substr(first + 1, second - first - 1);
    if (name == controller) {
      is_v1 = true;
      return "/sys/fs/cgroup/" + controller + line.substr(second + 1);
    }
    if (name.empty())
      unified = "/sys/fs/cgroup" + line.substr(second + 1);
  }
  return unified;
}

/// The file with the limit, and the one with what it is measured against.
std::string limit_file(const std::string& controller, bool is_v1) {
  return is_v1 && controller == "memory" ? "memory.limit_in_bytes" : controller + ".max";
}
std::string current_file(const std::string& controller, bool is_v1) {
  return is_v1 && controller == "memory" ? "memory.usage_in_bytes"
                                         : controller + ".current";
}

} // namespace

ControlGroup::ControlGroup(const std::string& controller)
  : controller_(controller), parent_(own_group(controller, is_v1_)) {
  if (!is_v1_)
    write_to(parent_ / "cgroup.subtree_control", "+" + controller);
  auto name = (parent_ / "e2e-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr)
    throw NoControlGroup("make a group in " + parent_.string() + ": " +
                         std::strerror(errno));
  folder_ = name;
  if (!fs::exists(folder_ / limit_file(controller, is_v1_))) {
    ::rmdir(folder_.c_str());
    throw NoControlGroup(parent_.string() + " has no controller " + controller);
  }
}

ControlGroup::~ControlGroup() {
  std::ifstream members(folder_ / "cgroup.procs");
  for (std::string pid; members >> pid;)
    write_to(parent_ / "cgroup.procs", pid);
  ::rmdir(folder_.c_str());
}

void ControlGroup::limit(std::size_t most) {
  auto file = folder_ / limit_file(controller_, is_v1_);
  if (!write_to(file, std::to_string(most)))
    throw NoControlGroup("write " + file.string());
  if (controller_ == "memory")
    write_to(folder_ / "memory.swap.max", "0"); // If there is such a thing.
}

void ControlGroup::unlimit() {
  write_to(folder_ / limit_file(controller_, is_v1_),
           is_v1_ && controller_ == "memory" ? "-1" : "max");
}

std::size_t ControlGroup::current() const {
  std::ifstream file(folder_ / current_file(controller_, is_v1_));
  std::size_t value = 0;
  file >> value;
  return value;
}

void join_group(const std::string& door) {
  if (!write_to(door, "0"))
    throw std::runtime_error("join " + door);
}

} // namespace fiber::e2e
