// SPDX-License-Identifier: Apache-2.0
// The bytes should be a message of the program's actors, without handles.

#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <caf/all.hpp>

#include "actors/caf/actor_message.hpp"
#include "tests/fuzz/target.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fiber::Reader reader(std::as_bytes(std::span(data, size)));
  try {
    static_cast<void>(fiber::actors::unpack_message(reader));
    ++fiber::fuzz::taken;
  } catch (const fiber::Error&) { // What its sender is told.
  }
  return 0;
}

std::vector<std::string> fiber::fuzz::seeds() {
  const auto inner = caf::make_message(std::int32_t{7}, std::string("text"));
  std::vector<std::string> all;
  for (const auto& message :
       {inner,
        caf::make_message(inner, std::set<std::string>{"a", "b"}, true, 1.5,
                          caf::make_error(caf::sec::invalid_argument, "why")),
        caf::make_message(caf::make_message(caf::make_message(inner)), 'c', inner)}) {
    Bytes bytes;
    Writer writer(bytes);
    actors::pack_message(writer, message);
    all.push_back(string_of(bytes));
  }
  return all;
}
