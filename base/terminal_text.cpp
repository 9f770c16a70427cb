// SPDX-License-Identifier: Apache-2.0
#include "base/terminal_text.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

namespace fiber {
namespace {

constexpr unsigned char escape = 0x1b, delete_character = 0x7f;
constexpr std::size_t longest_colour = 64; ///< Bytes of one SGR sequence.
constexpr std::string_view reset = "\x1b[m", indent = "    ";

unsigned char at(std::string_view text, std::size_t i) {
  return static_cast<unsigned char>(text[i]);
}

/// Returns the length of the SGR sequence, ESC [ 1 ; 31 m, at the beginning; 0 if there
/// is none.
std::size_t colour_size(std::string_view text) {
  if (!text.starts_with("\x1b["))
    return 0;
  auto end = text.substr(0, longest_colour).find_first_not_of("0123456789;:", 2);
  return end != text.npos && text[end] == 'm' ? end + 1 : 0;
}

/// Returns the length of the UTF-8 character at the beginning, which has more than one
/// byte and is no control character; 0 if there is none.
std::size_t character_size(std::string_view text) {
  auto first = at(text, 0);
  std::size_t size = first >= 0xc2 && first <= 0xdf   ? 2
                     : first >= 0xe0 && first <= 0xef ? 3
                     : first >= 0xf0 && first <= 0xf4 ? 4
                                                      : 0;
  if (size == 0 || text.size() < size)
    return 0;
  for (std::size_t i = 1; i < size; ++i)
    if ((at(text, i) & 0xc0) != 0x80)
      return 0;
  auto second = at(text, 1);
  bool odd = (first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) ||
             (first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f);
  bool control = first == 0xc2 && second < 0xa0; // U+0080 to U+009F
  return odd || control ? 0 : size;
}

/// Returns how many bytes at the beginning pass as they are; 0 if the first must not.
std::size_t passing_size(std::string_view text, Passing passing) {
  auto first = at(text, 0);
  if (first == '\t')
    return passing == Passing::nothing ? 0 : 1;
  if (first == '\n')
    return passing == Passing::lines ? 1 : 0;
  if (first >= ' ' && first < delete_character)
    return 1;
  if (first == escape)
    return passing == Passing::colours ? colour_size(text) : 0;
  return character_size(text);
}

void append_escaped(std::string& to, unsigned char byte) {
  if (byte == '\n' || byte == '\r') {
    to += byte == '\n' ? "\\n" : "\\r";
    return;
  }
  std::array<char, 5> hex{};
  std::snprintf(hex.data(), hex.size(), "\\x%02x", byte);
  to += hex.data();
}

} // namespace

bool has_orders(std::string_view text) {
  while (!text.empty()) {
    auto size = passing_size(text, Passing::colours);
    if (size == 0 || at(text, 0) == escape)
      return true;
    text.remove_prefix(size);
  }
  return false;
}

std::string for_terminal(std::string_view text, Passing passing) {
  std::string plain;
  plain.reserve(text.size());
  bool coloured = false;
  while (!text.empty()) {
    auto size = passing_size(text, passing);
    if (size == 0)
      append_escaped(plain, at(text, 0));
    else
      plain += text.substr(0, size);
    coloured = coloured || (size > 0 && at(text, 0) == escape);
    text.remove_prefix(std::max<std::size_t>(size, 1));
  }
  if (coloured)
    plain += reset;
  return plain;
}

std::string for_log(std::string_view text) {
  std::string plain;
  for (bool first = true; first || !text.empty(); first = false) {
    auto end = std::min(text.find('\n'), text.size());
    if (!first)
      plain += '\n';
    if (!first && !text.starts_with(indent)) // It may have been here before.
      plain += indent;
    plain += for_terminal(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return plain;
}

} // namespace fiber
