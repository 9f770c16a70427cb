// SPDX-License-Identifier: Apache-2.0
#include "rl/es_train/progress.hpp"

#include <algorithm>
#include <cmath>

#include <sys/ioctl.h>
#include <unistd.h>

#include "fiber/rl/detail/formatted.hpp"

namespace fiber::rl::es_train {
namespace {

using detail::formatted;

// A line longer than the terminal would wrap, and could not be rewritten.
std::size_t columns(std::FILE* out) {
  winsize size = {};
  if (::ioctl(::fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    return size.ws_col;
  return 80;
}

// The pids of workers, in so many columns; of workers elsewhere, their number.
std::string named(const std::vector<Worker>& workers, std::size_t room) {
  constexpr std::size_t most = 16; // A line that can be read, of hundreds of workers too.
  const auto here = this_worker().place;
  const auto elsewhere = static_cast<std::size_t>(std::ranges::count_if(
    workers, [&](const Worker& worker) { return worker.place != here; }));
  std::string text;
  if (elsewhere > 0)
    text = "  " + std::to_string(elsewhere) +
           (elsewhere == 1 ? " worker elsewhere" : " workers elsewhere");
  std::size_t shown = 0;
  for (const auto& worker : workers) {
    if (worker.place != here)
      continue;
    const auto next = (shown == 0 ? "  pids " : " ") + std::to_string(worker.pid);
    // Part of a pid would be another process.
    if (shown == most || text.size() + next.size() + 3 > room)
      return text + " ..";
    text += next;
    ++shown;
  }
  return text;
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
                    const std::vector<Worker>& workers) {
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
  line += formatted("  %3.0f s", point.seconds);
  const auto width = terminal_ ? columns(out_) - 1 : std::string::npos;
  line += named(workers, width - std::min(width, line.size()));

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
