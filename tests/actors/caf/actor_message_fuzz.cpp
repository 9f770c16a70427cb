// SPDX-License-Identifier: Apache-2.0
// The bytes should be a message of the program's actors, without handles.

#include <cstddef>
#include <cstdint>
#include <span>

#include "actors/caf/actor_message.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fiber::Reader reader(std::as_bytes(std::span(data, size)));
  try {
    static_cast<void>(fiber::actors::unpack_message(reader));
  } catch (const fiber::Error&) { // What its sender is told.
  }
  return 0;
}
