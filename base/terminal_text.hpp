// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace fiber {

/// What for_terminal() leaves as it is, besides characters.
enum class Passing : std::uint8_t {
  colours, ///< Tabs, and colours (ECMA-48's SGR), which are reset at the end of the text.
  lines,   ///< Tabs and newlines.
  nothing
};

/// Returns `text`, which may be another process's, so that a terminal only shows it.
/// Control characters become escapes that are visible ("\x1b", "\r", "\n"), as do bytes
/// that are no UTF-8: a terminal would take them for orders (move the cursor, change the
/// title, fill the clipboard).
std::string for_terminal(std::string_view text, Passing passing = Passing::colours);

/// Returns whether for_terminal() would change `text`.
bool has_orders(std::string_view text);

/// Returns the text of a log record, each of its lines for_terminal() and, from the
/// second on, indented: no part of a record looks like another record. A text that was
/// returned by this before gets no further indent.
std::string for_log(std::string_view text);

} // namespace fiber
