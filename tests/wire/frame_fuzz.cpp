// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>

#include "tests/wire/receiver_fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fiber::wire::fuzz_receiver({data, size});
  return 0;
}
