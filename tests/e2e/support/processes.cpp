// SPDX-License-Identifier: Apache-2.0
#include "tests/e2e/support/processes.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <thread>

#include <unistd.h>

namespace fiber::e2e {
namespace {

std::string content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream
    text; // Unlike an iterator it takes a process that ends meanwhile for an end.
  text << file.rdbuf();
  return text.str();
}

bool has_variable(const std::string& environment, const std::string& start) {
  return environment.starts_with(start) ||
         environment.find('\0' + start) != std::string::npos;
}

/// Nothing if it is gone or a zombie.
std::optional<Process> look_at(pid_t pid) {
  auto text = content("/proc/" + std::to_string(pid) + "/stat");
  auto name_end = text.rfind(')'); // The name before it may hold anything.
  if (name_end == std::string::npos)
    return std::nullopt;
  Process process;
  process.pid = pid;
  std::istringstream(text.substr(name_end + 1)) >> process.state >> process.parent >>
    process.group;
  if (process.state == 'Z' || process.state == 'X')
    return std::nullopt;
  return process;
}

} // namespace

bool wait_until(const std::function<bool()>& condition, std::chrono::milliseconds limit) {
  auto end = std::chrono::steady_clock::now() + limit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() >= end)
      return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

std::vector<Process> marked(const std::string& mark) {
  std::vector<Process> found;
  auto wanted = std::string(mark_variable) + "=" + mark + '\0';
  std::error_code gone;
  for (auto& entry : std::filesystem::directory_iterator("/proc", gone)) {
    auto name = entry.path().filename().string();
    pid_t pid = 0;
    auto [rest, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (error != std::errc() || *rest != '\0')
      continue;
    auto environment = content("/proc/" + name + "/environ");
    if (!has_variable(environment, wanted))
      continue;
    if (auto process = look_at(pid)) {
      process->zygote = has_variable(environment, "FIBER_NODE=zygote:");
      found.push_back(*process);
    }
  }
  // Jobs are forks of the zygote and have its environment; the zygote is the driver's own
  // child.
  for (auto& process : found)
    if (process.zygote)
      process.zygote = process.parent == getpid() ||
                       std::any_of(found.begin(), found.end(), [&](auto& driver) {
                         return driver.pid == process.parent && !driver.zygote;
                       });
  return found;
}

std::vector<pid_t> jobs(const std::string& mark) {
  std::vector<pid_t> pids;
  for (auto& process : marked(mark))
    if (process.group == process.pid && !process.zygote)
      pids.push_back(process.pid);
  return pids;
}

pid_t zygote(const std::string& mark) {
  for (auto& process : marked(mark))
    if (process.zygote)
      return process.pid;
  return 0;
}

std::vector<pid_t> children(pid_t parent) {
  std::vector<pid_t> pids;
  std::error_code gone; // Each thread has its own.
  for (auto& task : std::filesystem::directory_iterator(
         "/proc/" + std::to_string(parent) + "/task", gone)) {
    std::istringstream list(content(task.path() / "children"));
    pids.insert(pids.end(), std::istream_iterator<pid_t>(list), {});
  }
  return pids;
}

bool lives(pid_t pid) {
  return look_at(pid).has_value();
}

bool is_stopped(pid_t pid) {
  auto process = look_at(pid);
  return process && process->state == 'T';
}

std::vector<std::string> fiber_names(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code none;
  for (auto& entry : std::filesystem::directory_iterator(folder, none))
    if (auto name = entry.path().filename().string();
        name.find("fiber") != std::string::npos)
      names.push_back(name);
  std::sort(names.begin(), names.end());
  return names;
}

} // namespace fiber::e2e
