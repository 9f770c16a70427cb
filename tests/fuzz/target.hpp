// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "fiber/bytes.hpp"

// What a fuzz target offers. Two programs are made of it: one with libFuzzer (`./dev
// check fuzz`), and a test that tries a fixed number of inputs (fuzz_main.cpp).

/// Reads an input as its decoder would. Aborts if a promise is broken; returns 0.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace fiber::fuzz {

/// Returns valid inputs, at least one for each kind.
std::vector<std::string> seeds();

/// How many inputs the decoder has taken for good. The target counts.
inline std::size_t taken = 0;

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}
inline std::string string_of(const Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

} // namespace fiber::fuzz
