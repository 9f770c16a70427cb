// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace fiber::rl::storage {

/// Appends a number, the least byte first, as most binary formats have it.
template <std::unsigned_integral Unsigned>
void put_fixed(std::string& out, Unsigned number) {
  for (std::size_t i = 0; i < sizeof number; ++i)
    out += static_cast<char>((number >> (8 * i)) & 0xff);
}

inline void put_fixed(std::string& out, float number) {
  put_fixed(out, std::bit_cast<std::uint32_t>(number));
}

inline void put_fixed(std::string& out, double number) {
  put_fixed(out, std::bit_cast<std::uint64_t>(number));
}

/// Appends numbers one after another.
template <class Number>
void put_all(std::string& out, std::span<const Number> numbers) {
  out.reserve(out.size() + numbers.size_bytes());
  for (auto number : numbers)
    put_fixed(out, number);
}

} // namespace fiber::rl::storage
