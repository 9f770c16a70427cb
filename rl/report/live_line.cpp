// SPDX-License-Identifier: Apache-2.0
#include "fiber/rl/live_line.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <sys/ioctl.h>
#include <unistd.h>

#include "fiber/rl/detail/formatted.hpp"

namespace fiber::rl {
namespace {
namespace live {

std::string or_dash(const char* format, double number) {
  return std::isnan(number) ? "-" : detail::formatted(format, number);
}

// 1234567 as "1,234,567".
std::string grouped(std::uint64_t number) {
  auto digits = std::to_string(number);
  for (auto at = digits.size(); at > 3;) {
    at -= 3;
    digits.insert(at, 1, ',');
  }
  return digits;
}

std::string rate(double number) {
  if (!(number >= 0 && number < 1e15))
    return "-";
  return grouped(static_cast<std::uint64_t>(std::llround(number)));
}

// A line longer than the terminal would wrap, and could not be rewritten.
std::size_t columns(std::FILE* out) {
  winsize size = {};
  if (::ioctl(::fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    return size.ws_col;
  return 80;
}

} // namespace live
} // namespace

std::string describe(const TrainingStatus& status) {
  using namespace live;
  auto line = grouped(status.step);
  if (status.steps > 0)
    line += '/' + grouped(status.steps);
  line += "  " + rate(status.steps_per_second) + " steps/s";
  line += "  return " + or_dash("%.1f", status.mean_return);
  line += "  policy " + or_dash("%.4f", status.policy_loss);
  line += "  value " + or_dash("%.3g", status.value_loss);
  line += "  idle " + or_dash("%.0f %%", status.learner_idle * 100);
  return line;
}

LiveLine::LiveLine(std::FILE* out, std::size_t plain_every)
  : out_(out), terminal_(::isatty(::fileno(out)) == 1),
    plain_every_(std::max<std::size_t>(plain_every, 1)) {}

LiveLine::~LiveLine() {
  if (open_)
    std::fputc('\n', out_);
  if (!pending_.empty())
    std::fprintf(out_, "%s\n", pending_.c_str());
  std::fflush(out_);
}

void LiveLine::show(const std::string& line) {
  if (terminal_) {
    const auto width = live::columns(out_) - 1;
    std::fprintf(out_, "\r\033[K%s", line.substr(0, width).c_str());
    open_ = true;
  } else if (shown_++ % plain_every_ == 0) {
    std::fprintf(out_, "%s\n", line.c_str());
    pending_.clear();
  } else {
    pending_ = line;
    return;
  }
  std::fflush(out_);
}

void LiveLine::say(const std::string& line) {
  if (!pending_.empty())
    std::fprintf(out_, "%s\n", std::exchange(pending_, {}).c_str());
  std::fprintf(out_, "%s%s\n", open_ ? "\n" : "", line.c_str());
  std::fflush(out_);
  open_ = false;
}

} // namespace fiber::rl
