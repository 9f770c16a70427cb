// SPDX-License-Identifier: Apache-2.0
// The bytes should be operations between a driver and a node, as either end reads them.

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "actors/objects/peer_introductions.hpp"
#include "actors/protocol/node_protocol.hpp"
#include "actors/protocol/object_protocol.hpp"
#include "tests/actors/protocol/every_message.hpp"
#include "tests/fuzz/target.hpp"

namespace fiber::actors {
namespace {

void read(Op op, Reader& reader, const Payload& whole) {
  switch (op) {
  case Op::open:
    return static_cast<void>(read_open(reader, whole));
  case Op::run:
    return static_cast<void>(read_run(reader, whole));
  case Op::recall:
    return static_cast<void>(read_recall(reader));
  case Op::stop_task:
    return static_cast<void>(read_stop_task(reader));
  case Op::ready:
    return static_cast<void>(read_ready(reader));
  case Op::results:
  case Op::timed_results:
    return static_cast<void>(read_results(reader, whole, op == Op::timed_results));
  case Op::handed_back:
    return static_cast<void>(read_handed_back(reader));
  case Op::overdue:
    return static_cast<void>(read_overdue(reader));
  case Op::init_failed:
    return static_cast<void>(read_failure(reader));
  case Op::probed:
    return static_cast<void>(read_clock(reader));
  case Op::chaos:
    return static_cast<void>(reader.get<ChaosNote>());
  case Op::log:
    return static_cast<void>(read_log(reader));
  case Op::fetch:
    return static_cast<void>(reader.get<ShareFetch>());
  case Op::share_place:
  case Op::share_mapped:
    return static_cast<void>(reader.get<SharePlace>());
  case Op::object:
    return static_cast<void>(read_object_message(reader, whole));
  case Op::object_retain:
  case Op::object_release:
    return static_cast<void>(reader.get<detail::HeldId>());
  case Op::peer_listen:
  case Op::peer_dial:
  case Op::peer_listens:
  case Op::share_listens:
    return static_cast<void>(read_peer_call(reader));
  case Op::process_gone:
    return static_cast<void>(read_gone_process(reader));
  case Op::retire: // Its place, and the next one's, are taken by a kind of body.
    return static_cast<void>(read_lost_call(reader));
  case Op::probe:
    return static_cast<void>(read_lost_items(reader));
  default:
    reader.get<std::uint64_t>();
  }
}

} // namespace
} // namespace fiber::actors

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fiber;
  auto bytes = std::as_bytes(std::span(data, size));
  const Payload whole(Bytes(bytes.begin(), bytes.end()));
  Reader reader(whole.bytes());
  try {
    while (!reader.empty()) {
      auto op = actors::read_op(reader);
      actors::read(op, reader, whole);
    }
    ++fuzz::taken;
  } catch (const Error&) { // Costs the peer its link.
  }
  return 0;
}

std::vector<std::string> fiber::fuzz::seeds() {
  std::vector<std::string> all;
  for (const auto& [name, message] : actors::every_message_to_a_job())
    all.push_back(string_of(message));
  for (const auto& [name, message] : actors::every_message_of_a_job())
    if (!name.starts_with("op ") && name != "puts" && name != "process_gone")
      all.push_back(string_of(message));
  std::string row; // Several in one message.
  for (const auto& message : all)
    row += message;
  all.push_back(row);
  return all;
}
