// SPDX-License-Identifier: Apache-2.0
#include "rl/es_train/progress.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <sys/ioctl.h>
#include <unistd.h>

namespace fiber::rl::es_train {
namespace {

template <class... Args>
std::string formatted(const char* format, Args... args) {
  std::array<char, 256> buffer;
  std::snprintf(buffer.data(), buffer.size(), format, args...);
  return buffer.data();
}

// A line longer than the terminal would wrap, and could not be rewritten.
std::size_t columns(std::FILE* out) {
  winsize size = {};
  if (::ioctl(::fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    return size.ws_col;
  return 80;
}

} // namespace

Progress::Progress(std::FILE* out)
  : out_(out), terminal_(::isatty(::fileno(out)) == 1),
    last_time_(std::chrono::steady_clock::now()) {}

Progress::~Progress() {
  if (open_)
    std::fputc('\n', out_);
}

void Progress::show(const CurvePoint& point, std::size_t iterations,
                    const std::vector<int>& pids) {
  const auto now = std::chrono::steady_clock::now();
  const std::chrono::duration<double> spent = now - last_time_;
  // After a resume the count begins with what an earlier process played.
  const auto played = first_ ? 0 : point.episodes - last_episodes_;
  first_ = false;
  last_time_ = now;
  last_episodes_ = point.episodes;

  if (!std::isnan(point.policy_mean))
    last_mean_ = point.policy_mean;
  auto line = formatted("%3llu/%zu  mean ",
                        static_cast<unsigned long long>(point.iteration), iterations);
  line += std::isnan(last_mean_) ? "     -" : formatted("%6.4g", last_mean_);
  line += formatted("  best %6.4g", point.population_best);
  if (played > 0)
    line += formatted("  %6.0f episodes/s", static_cast<double>(played) / spent.count());
  line += formatted("  %3.0f s  pids", point.seconds);
  constexpr std::size_t most = 16; // A line that can be read, of hundreds of workers too.
  const auto width = terminal_ ? columns(out_) - 1 : std::string::npos;
  for (std::size_t i = 0; i < pids.size(); ++i) {
    const auto next = formatted(" %d", pids[i]);
    // Part of a pid would be another process.
    if (i == most || line.size() + next.size() + 3 > width) {
      line += " ..";
      break;
    }
    line += next;
  }

  if (terminal_) {
    line.resize(std::min(line.size(), width));
    std::fprintf(out_, "\r\033[K%s", line.c_str());
    open_ = true;
  } else {
    std::fprintf(out_, "%s\n", line.c_str());
  }
  std::fflush(out_);
}

void Progress::say(const std::string& line) {
  std::fprintf(out_, "%s%s\n", open_ ? "\n" : "", line.c_str());
  std::fflush(out_);
  open_ = false;
}

} // namespace fiber::rl::es_train
