// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <charconv>
#include <concepts>
#include <string>
#include <type_traits>

namespace fiber::rl::detail {

/// A number for the label of a checkpoint, the same in each locale: 17 digits of a
/// floating-point number tell it from each other one.
template <class Number>
std::string number_text(Number number) {
  std::array<char, 64> buffer;
  char* const end = buffer.data() + buffer.size();
  if constexpr (std::is_floating_point_v<Number>)
    return {buffer.data(), std::to_chars(buffer.data(), end, double{number},
                                         std::chars_format::general, 17)
                             .ptr};
  else
    return {buffer.data(), std::to_chars(buffer.data(), end, number).ptr};
}

/// A number for people, the same in each locale: as few digits as tell it from others.
template <std::floating_point Number>
std::string shown(Number number) {
  std::array<char, 64> buffer;
  return {buffer.data(),
          std::to_chars(buffer.data(), buffer.data() + buffer.size(), number).ptr};
}

} // namespace fiber::rl::detail
