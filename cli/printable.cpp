// SPDX-License-Identifier: Apache-2.0
#include "cli/printable.hpp"

#include <algorithm>
#include <cmath>

#include <spdlog/fmt/fmt.h>

#include "base/terminal_text.hpp"

namespace fiber::cli {
namespace {

bool starts_character(char c) {
  return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
}

} // namespace

std::string printable(std::string_view text, bool lines) {
  return for_terminal(text, lines ? Passing::lines : Passing::nothing);
}

std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, starts_character));
}

std::string cut(std::string_view text, std::size_t columns) {
  std::size_t seen = 0;
  for (std::size_t i = 0; i < text.size(); ++i)
    if (starts_character(text[i]) && ++seen > columns)
      return std::string(text.substr(0, i));
  return std::string(text);
}

std::string fit(std::string_view text, std::size_t columns) {
  auto out = cut(text, columns);
  out.append(columns - std::min(columns, width_of(out)), ' ');
  return out;
}

std::string short_count(double number) {
  constexpr double thousand = 1e3, million = 1e6, billion = 1e9;
  constexpr double whole_from = 100; // Larger numbers are shown without a fraction.
  if (number >= billion)
    return fmt::format("{:.2f}G", number / billion);
  if (number >= million)
    return fmt::format("{:.2f}M", number / million);
  if (number >= 10 * thousand)
    return fmt::format("{:.1f}k", number / thousand);
  auto whole = number == std::floor(number) || number >= whole_from;
  return whole ? fmt::format("{:.0f}", number) : fmt::format("{:.1f}", number);
}

std::string short_time(double seconds) {
  constexpr double ms = 1e-3, us = 1e-6;
  if (seconds <= 0)
    return "0";
  if (seconds < ms)
    return fmt::format("{:.0f} us", seconds / us);
  if (seconds < 1)
    return fmt::format("{:.0f} ms", seconds / ms);
  if (seconds < 60)
    return fmt::format("{:.1f} s", seconds);
  return clock_time(seconds);
}

std::string clock_time(double seconds) {
  constexpr long minute = 60, hour = 3600, day = 86400;
  auto s = std::lround(std::clamp(seconds, 0.0, 1e10));
  if (s >= day)
    return fmt::format("{}d {:02}:{:02}:{:02}", s / day, s % day / hour,
                       s % hour / minute, s % minute);
  if (s >= hour)
    return fmt::format("{}:{:02}:{:02}", s / hour, s % hour / minute, s % minute);
  return fmt::format("{}:{:02}", s / minute, s % minute);
}

} // namespace fiber::cli
