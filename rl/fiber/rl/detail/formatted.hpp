// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdarg>
#include <cstdio>
#include <string>

#include "fiber/detail/classic_locale.hpp"

namespace fiber::rl::detail {

/// The text that std::printf would write, but with a point before decimals in each
/// locale.
[[gnu::format(printf, 1, 2)]] inline std::string formatted(const char* format, ...) {
  const fiber::detail::ClassicThread numbers;
  std::va_list values, again;
  va_start(values, format);
  va_copy(again, values);
  const int size = std::vsnprintf(nullptr, 0, format, values);
  std::string text(size > 0 ? static_cast<std::size_t>(size) : 0, '\0');
  std::vsnprintf(text.data(), text.size() + 1, format, again);
  va_end(again);
  va_end(values);
  return text;
}

} // namespace fiber::rl::detail
