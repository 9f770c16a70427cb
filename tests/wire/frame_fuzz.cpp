// SPDX-License-Identifier: Apache-2.0
// The first byte says in pieces of which size the others come: frames of a link, or the
// hello with which a link begins.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tests/fuzz/target.hpp"
#include "tests/wire/receiver_fuzz.hpp"
#include "wire/frame.hpp"
#include "wire/greeting.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fiber::fuzz::taken += fiber::wire::fuzz_receiver({data, size});
  return 0;
}

namespace fiber::wire {
namespace {

/// A piece of a message; with `total`, the first one of several.
Bytes piece(bool first, bool last, std::size_t size, std::uint64_t total = 0) {
  Bytes frame(frame_header_bytes);
  encode({FrameType::message, first, last, 1, static_cast<std::uint32_t>(size)},
         frame.data());
  if (first && !last) {
    frame.resize(frame_header_bytes + total_length_bytes);
    encode_total(total, frame.data() + frame_header_bytes);
  }
  frame.insert(frame.end(), size, std::byte{7});
  return frame;
}

void append(Bytes& to, const Bytes& more) {
  to.insert(to.end(), more.begin(), more.end());
}

} // namespace
} // namespace fiber::wire

std::vector<std::string> fiber::fuzz::seeds() {
  using namespace fiber::wire;
  Bytes control;
  append_control(control, FrameType::window, 0, 1 << 20);
  append_control(control, FrameType::heartbeat, 0, 0);
  append_control(control, FrameType::credit, 1, 4096);
  Bytes goodbye;
  const std::string why = "done";
  append_control(goodbye, FrameType::goodbye, 0, static_cast<std::uint32_t>(why.size()),
                 std::as_bytes(std::span(why)));
  auto pieces = piece(true, false, 100, 150);
  append(pieces, piece(false, true, 50));
  auto row = control;
  append(row, piece(true, true, 20));
  append(row, pieces);
  std::vector<std::string> all;
  for (const auto& bytes : {control, goodbye, piece(true, true, 0), piece(true, true, 20),
                            pieces, row, pack_hello({"session-1", "build-1", 7})})
    for (const char size : {'\0', '\1', '\7'})
      all.push_back(size + string_of(bytes));
  return all;
}
