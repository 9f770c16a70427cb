// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace fiber {

/// Returns `text`, which may be another process's, so that a terminal only shows it.
/// Control characters become escapes that are visible ("\x1b", "\r", "\n"), as do bytes
/// that are no UTF-8: a terminal would take them for orders (move the cursor, change the
/// title, fill the clipboard). Tabs and colours (ECMA-48's SGR) pass; after colours the
/// text ends with their reset.
std::string for_terminal(std::string_view text);

/// Returns whether for_terminal() would change `text`.
bool has_orders(std::string_view text);

/// Returns the text of a log record, each of its lines for_terminal() and, from the
/// second on, indented: no part of a record looks like another record. A text that was
/// returned by this before gets no further indent.
std::string for_log(std::string_view text);

} // namespace fiber
