// SPDX-License-Identifier: Apache-2.0
#include "libfiber/observer/process_stat.hpp"

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <unistd.h>

#include "fiber/detail/classic_locale.hpp"

namespace fiber::observer {
namespace {

/// The fields behind the name, from the third one of the file on.
enum Field : std::size_t {
  state,
  parent,
  utime = 11,
  stime = 12,
  starttime = 19,
  rss = 21,
  end
};

} // namespace

std::optional<ProcessStat> stat_of(pid_t pid) {
  fiber::detail::Classic<std::ifstream> file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(file, text, '\0');
  auto name_end = text.rfind(')'); // The name before it may hold anything.
  if (name_end == text.npos)
    return std::nullopt;
  fiber::detail::Classic<std::istringstream> fields(text.substr(name_end + 1));
  std::vector<std::string> words(end);
  for (auto& word : words)
    if (!(fields >> word))
      return std::nullopt;
  static const auto ticks_a_second = static_cast<double>(::sysconf(_SC_CLK_TCK));
  static const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return ProcessStat{.state = words[state].front(),
                     .parent = std::stoi(words[parent]),
                     .cpu_seconds = (static_cast<double>(std::stoull(words[utime]) +
                                                         std::stoull(words[stime]))) /
                                    ticks_a_second,
                     .started = std::stoull(words[starttime]),
                     .memory_bytes = std::stoull(words[rss]) * page};
}

} // namespace fiber::observer
