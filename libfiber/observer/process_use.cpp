// SPDX-License-Identifier: Apache-2.0
#include "libfiber/observer/process_use.hpp"

#include <fstream>
#include <sstream>
#include <string>

#include <unistd.h>

namespace fiber::observer {
namespace {

constexpr std::chrono::seconds fresh{2};
constexpr std::size_t most_processes = 4096;

/// The process's fields in /proc/PID/stat, from the third one on: the name before them
/// may contain anything.
constexpr int utime_field = 11, stime_field = 12, rss_field = 21;

std::optional<ProcessUse::Use> read_use(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  if (!std::getline(file, text, '\0'))
    return std::nullopt;
  auto name_end = text.rfind(')');
  if (name_end == text.npos)
    return std::nullopt;
  std::istringstream fields(text.substr(name_end + 1));
  std::string field;
  double ticks = 0, pages = 0;
  for (int i = 0; i <= rss_field && fields >> field; ++i)
    if (i == utime_field || i == stime_field)
      ticks += std::stod(field);
    else if (i == rss_field)
      pages = std::stod(field);
  static const auto ticks_a_second = static_cast<double>(::sysconf(_SC_CLK_TCK));
  static const auto page = static_cast<double>(::sysconf(_SC_PAGESIZE));
  return ProcessUse::Use{ticks / ticks_a_second,
                         static_cast<std::uint64_t>(pages * page)};
}

} // namespace

std::optional<ProcessUse::Use> ProcessUse::of(pid_t pid) {
  if (pid <= 0)
    return std::nullopt;
  auto now = Clock::now();
  std::lock_guard lock(mutex_);
  if (auto known = known_.find(pid);
      known != known_.end() && now - known->second.at < fresh)
    return known->second.use;
  if (known_.size() >= most_processes)
    known_.clear();
  auto use = read_use(pid);
  known_[pid] = {now, use};
  return use;
}

} // namespace fiber::observer
