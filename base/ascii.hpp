// SPDX-License-Identifier: Apache-2.0
// Letters of names that programs read. The functions of <cctype> follow the locale: in a
// Turkish one std::toupper leaves 'i' as it is, in ISO 8859-1 'ä' is a letter.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace fiber::ascii {

constexpr char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

constexpr char upper(char c) {
  return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
}

constexpr bool is_letter_or_digit(char c) {
  return (lower(c) >= 'a' && lower(c) <= 'z') || (c >= '0' && c <= '9');
}

inline std::string lower(std::string_view text) {
  std::string result(text);
  std::ranges::transform(text, result.begin(), [](char c) { return lower(c); });
  return result;
}

inline std::string upper(std::string_view text) {
  std::string result(text);
  std::ranges::transform(text, result.begin(), [](char c) { return upper(c); });
  return result;
}

} // namespace fiber::ascii
