// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <string_view>

namespace fiber::cli {

/// Returns the text for_terminal() in one line, or, if `lines`, with its newlines and
/// tabs.
std::string printable(std::string_view text, bool lines = false);

/// Returns how many characters the text has.
std::size_t width_of(std::string_view text);
/// Returns the first `columns` characters of the text.
std::string cut(std::string_view text, std::size_t columns);
/// Returns the text, cut or filled with spaces to `columns` characters.
std::string fit(std::string_view text, std::size_t columns);

/// 1234567 becomes "1.23M".
std::string short_count(double number);
/// 75 seconds become "1:15", 0.012 becomes "12 ms".
std::string short_time(double seconds);
/// 3725 seconds become "1:02:05", days come first: "2d 01:00:05".
std::string clock_time(double seconds);

} // namespace fiber::cli
