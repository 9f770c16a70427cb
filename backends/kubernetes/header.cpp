// SPDX-License-Identifier: Apache-2.0
#include "backends/kubernetes/header.hpp"

#include <algorithm>

namespace fiber::backends::kubernetes {

bool fits_header(std::string_view text) {
  return std::ranges::none_of(
    text, [](unsigned char c) { return (c < 0x20 && c != '\t') || c == 0x7f; });
}

std::string escape_header_name(std::string_view text) {
  // RFC 9110's token characters except '%', which would not survive decoding.
  const std::string_view plain = "!#$&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz"
                                 "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
  const char* const digits = "0123456789ABCDEF";
  std::string escaped;
  for (char c : text) {
    auto byte = static_cast<unsigned char>(c);
    if (plain.find(c) != plain.npos)
      escaped += c;
    else
      ((escaped += '%') += digits[byte >> 4]) += digits[byte & 15];
  }
  return escaped;
}

} // namespace fiber::backends::kubernetes
