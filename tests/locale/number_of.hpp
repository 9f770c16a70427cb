// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <charconv>
#include <stdexcept>
#include <string>

namespace fiber::test {

/// As std::stod, with a decimal point in each locale.
inline double number_of(const std::string& text) {
  double number = 0;
  const auto begin = text.find_first_not_of(' ');
  if (begin == std::string::npos ||
      std::from_chars(text.data() + begin, text.data() + text.size(), number).ec !=
        std::errc())
    throw std::invalid_argument("no number: '" + text + "'");
  return number;
}

} // namespace fiber::test
