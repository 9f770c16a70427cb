// SPDX-License-Identifier: Apache-2.0
#include "actors/protocol/object_protocol.hpp"

#include <utility>

#include "actors/protocol/node_protocol.hpp"

namespace fiber::actors {
namespace {

bool of_two_jobs(const ObjectMessage& message) {
  return message.to != 0 && message.from != 0;
}

} // namespace

void write(Writer& writer, const ObjectMessage& message) {
  writer.put(Op::object);
  writer.put(message.to);
  writer.put(message.from);
  writer.put(message.object);
  writer.put(message.request);
  writer.put(message.what);
  pack(writer, message.held);
  if (!message.held.empty())
    writer.put(message.parcel);
  if (of_two_jobs(message)) {
    writer.put(message.sequence);
    writer.put(message.acknowledged);
  }
  writer.size(message.body.size());
}

void send(wire::Link& link, const ObjectMessage& message, Haste haste) {
  constexpr std::size_t usual_size = 96; // Enough if it refers to at most one object.
  Bytes head;
  head.reserve(usual_size);
  Writer writer(head);
  write(writer, message);
  if (haste == Haste::soon)
    link.send_soon(task_stream, std::move(head), message.body);
  else
    link.send(task_stream, std::move(head), message.body);
}

ObjectMessage read_object_message(Reader& reader, const Payload& whole) {
  ObjectMessage message;
  message.to = reader.get<std::uint64_t>();
  message.from = reader.get<std::uint64_t>();
  message.object = reader.get<std::uint64_t>();
  message.request = reader.get<std::uint64_t>();
  message.what = reader.get<std::uint8_t>();
  message.held = unpack<std::vector<detail::HeldId>>(reader);
  if (!message.held.empty())
    message.parcel = reader.get<std::uint64_t>();
  if (of_two_jobs(message)) {
    message.sequence = reader.get<std::uint64_t>();
    message.acknowledged = reader.get<std::uint64_t>();
  }
  auto most = message.object == 0 ? static_cast<std::uint8_t>(Answer::unbegun)
                                  : static_cast<std::uint8_t>(AskKind::shut);
  if (message.what > most)
    throw Error("object " + std::to_string(message.object) + " has no operation " +
                std::to_string(message.what));
  auto bytes = reader.raw(reader.size());
  message.body = whole.slice(
    static_cast<std::size_t>(bytes.data() - whole.bytes().data()), bytes.size());
  return message;
}

void write(Writer& writer, const LostCall& lost) {
  writer.text(lost.text);
  writer.put(lost.exit.has_value());
  writer.put(std::int32_t{lost.exit.value_or(0)});
  writer.text(lost.reason);
  writer.text(lost.log);
}

LostCall read_lost_call(Reader& reader) {
  LostCall lost;
  lost.text = reader.text();
  auto known = reader.get<bool>();
  if (auto exit = reader.get<std::int32_t>(); known)
    lost.exit = exit;
  lost.reason = reader.text();
  lost.log = reader.text();
  return lost;
}

void write(Writer& writer, const LostItems& lost) {
  writer.put(lost.items);
  pack(writer, lost.redeliveries);
  pack(writer, lost.jobs);
}

LostItems read_lost_items(Reader& reader) {
  LostItems lost;
  lost.items = reader.get<std::uint64_t>();
  lost.redeliveries = unpack<std::optional<std::int32_t>>(reader);
  lost.jobs = unpack<std::vector<std::pair<std::string, std::uint64_t>>>(reader);
  return lost;
}

void write(Writer& writer, const GoneProcess& gone) {
  writer.put(gone.process);
  writer.text(gone.job);
}

GoneProcess read_gone_process(Reader& reader) {
  auto process = reader.get<std::uint64_t>();
  return {process, reader.text()};
}

} // namespace fiber::actors
