// SPDX-License-Identifier: Apache-2.0
#include "tests/actors/protocol/every_message.hpp"

#include <cstdint>
#include <memory>

#include "actors/objects/peer_introductions.hpp"
#include "actors/protocol/node_protocol.hpp"
#include "actors/protocol/object_protocol.hpp"

namespace fiber::actors {
namespace {

constexpr std::uint64_t nobody = 0x1234567890abcdef;

template <class... Fields>
Bytes message_of(const Fields&... fields) {
  Bytes bytes;
  Writer writer(bytes);
  auto add = [&](const auto& field) {
    if constexpr (requires { write(writer, field); })
      write(writer, field);
    else
      writer.put(field);
  };
  (add(fields), ...);
  return bytes;
}

Bytes with(Bytes message, std::size_t more) {
  message.resize(message.size() + more);
  return message;
}

Bytes results_of(std::size_t bytes, std::vector<TaskTime> times) {
  TaskResults some{.slot = 0,
                   .first_seq = 1'000'000,
                   .busy_ns = 1,
                   .longest_ns = 1,
                   .results = {{TaskResult::Status::value, bytes, 0}},
                   .times = std::move(times),
                   .held = {{nobody, 1}},
                   .parcel = 9,
                   .bytes = {}};
  return with(message_of(some), bytes);
}

Bytes object_message(std::uint64_t to) {
  ObjectMessage some{.to = to,
                     .from = 1,
                     .object = 77,
                     .request = 3,
                     .what = static_cast<std::uint8_t>(AskKind::put),
                     .held = {{nobody, 1}},
                     .parcel = 5,
                     .body = {}};
  return message_of(some);
}

PeerCall peer() {
  return {
    .to = 1, .peer = 2, .secret = {3, 4}, .host = "10.0.0.1", .port = 5, .share = 6};
}

std::unique_ptr<detail::Body> any_code(Reader& /*state*/) {
  return nullptr;
}

} // namespace

Bytes results_of(std::size_t bytes) {
  return results_of(bytes, {});
}

std::vector<std::pair<std::string, Bytes>> every_message_of_a_job() {
  const detail::HeldId held{nobody, 1};
  std::vector<std::pair<std::string, Bytes>> all{
    {"ready", message_of(Ready{1, 1, 1, "a build"})},
    {"results", results_of(8)},
    {"timed_results", results_of(8, {{1, 2}})},
    {"handed_back", message_of(HandedBack{0, 1, 2})},
    {"overdue", message_of(Overdue{0, 1})},
    {"init_failed", message_of(Op::init_failed, Failure{"a", "b", "c", Bytes(4)})},
    {"probed", message_of(Op::probed, std::int64_t{1})},
    {"fetch", message_of(Op::fetch, ShareFetch{nobody, 1})},
    {"share_waits", message_of(Op::share_waits, nobody)},
    {"share_arrived", message_of(Op::share_arrived, nobody)},
    {"share_place", message_of(Op::share_place, SharePlace{nobody, {}})},
    {"share_listens", message_of(Op::share_listens, peer())},
    {"retain", message_of(Op::retain, nobody)},
    {"release", message_of(Op::release, nobody)},
    {"chaos", message_of(Op::chaos, ChaosNote{})},
    {"log", message_of(LogRecord{1, 2, 3, "text"})},
    {"puts", message_of(Op::puts, nobody, std::uint32_t{4}, std::uint32_t{0})},
    {"object", object_message(0)},
    {"object to a job", object_message(2)},
    {"object_retain", message_of(Op::object_retain, held)},
    {"object_release", message_of(Op::object_release, held)},
    {"received", message_of(Op::received, nobody)},
    {"process_gone", message_of(Op::process_gone, nobody)},
    {"peer_listens", message_of(Op::peer_listens, peer())}};
  for (auto op = 0; op < 256; op += 5)
    all.push_back({"op " + std::to_string(op), Bytes(40, std::byte(op))});
  return all;
}

std::vector<std::pair<std::string, Bytes>> every_message_to_a_job() {
  constexpr std::size_t state = 8, arguments = 12;
  const OpenCall open{.call = 7,
                      .single = true,
                      .open = detail::entry<detail::CodeKind::open, &any_code>(),
                      .problem = {},
                      .state = Payload(Bytes(state))};
  const RunTasks run{.slot = 0,
                     .first_seq = 3,
                     .call = 7,
                     .first_index = 40,
                     .attempt = 1,
                     .hold_us = 100,
                     .lengths = {4, 8},
                     .arguments = {}};
  return {
    {"open", with(message_of(open), state)},
    {"run", with(message_of(run), arguments)},
    {"close", message_of(Op::close, nobody)},
    {"recall", message_of(Recall{1, 2})},
    {"stop", message_of(Op::stop, nobody)},
    {"stop_task", message_of(StopTask{1, 2})},
    {"freed", message_of(Op::freed, nobody)},
    {"received", message_of(Op::received, nobody)},
    {"object", object_message(1)},
    {"object of two jobs", object_message(2)},
    {"process_gone", message_of(Op::process_gone, GoneProcess{nobody, "a job"})},
    {"lost_call", message_of(Op::retire, LostCall{"a sentence", -9, "why", "a log"})},
    {"lost_items", message_of(Op::probe, LostItems{3, 2, {{"a job", 3}}})},
    {"peer_listen", message_of(Op::peer_listen, peer())},
    {"peer_dial", message_of(Op::peer_dial, peer())}};
}

} // namespace fiber::actors
