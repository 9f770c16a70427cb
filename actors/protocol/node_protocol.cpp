// SPDX-License-Identifier: Apache-2.0
#include "actors/protocol/node_protocol.hpp"

#include <array>

#include "base/failure.hpp"

#include <spdlog/common.h>

namespace fiber::actors {
namespace {

Payload part(Reader& reader, const Payload& whole, std::uint64_t length) {
  auto bytes = reader.raw(length);
  return whole.slice(static_cast<std::size_t>(bytes.data() - whole.bytes().data()),
                     bytes.size());
}

} // namespace

void check_size(std::size_t bytes, std::size_t most) {
  if (bytes > most)
    throw Error("a value of " + std::to_string(bytes) +
                " bytes is too large to be sent: at most " + std::to_string(most) +
                " bytes can be");
}

void write(Writer& writer, const OpenCall& op) {
  writer.put(Op::open);
  writer.put(op.call);
  writer.put(op.single);
  detail::pack_code(writer, detail::code_of(op.open), detail::CodeKind::open);
  writer.size(op.state.size());
}

void write(Writer& writer, const RunTasks& op) {
  writer.put(Op::run);
  writer.put(op.slot);
  writer.put(op.first_seq);
  writer.put(op.call);
  writer.put(op.first_index);
  writer.put(op.attempt);
  writer.put(op.hold_us);
  pack(writer, op.lengths);
}

void write(Writer& writer, const Recall& op) {
  writer.put(Op::recall);
  writer.put(op);
}

void write(Writer& writer, const StopTask& op) {
  writer.put(Op::stop_task);
  writer.put(op);
}

void write(Writer& writer, const Ready& op) {
  writer.put(Op::ready);
  writer.put(op.incarnation);
  writer.put(op.slots);
  writer.put(op.pid);
  writer.text(op.build);
}

void write(Writer& writer, const HandedBack& op) {
  writer.put(Op::handed_back);
  writer.put(op);
}

void write(Writer& writer, const Overdue& op) {
  writer.put(Op::overdue);
  writer.put(op);
}

void write(Writer& writer, const Failure& failure) {
  pack_failure(writer, failure);
}

void write(Writer& writer, const LogRecord& record) {
  writer.put(Op::log);
  writer.put(record.level);
  writer.put(record.index);
  writer.put(record.attempt);
  writer.text(record.text);
}

void write(Writer& writer, Op op) {
  writer.put(op);
}

void write(Writer& writer, Op op, std::uint64_t id) {
  writer.put(op);
  writer.put(id);
}

void write(Writer& writer, const TaskResults& op) {
  writer.put(op.times.empty() ? Op::results : Op::timed_results);
  writer.put(op.slot);
  writer.put(op.first_seq);
  writer.put(op.busy_ns);
  writer.put(op.longest_ns);
  writer.put(static_cast<std::uint32_t>(op.results.size()));
  std::uint64_t bytes = 0;
  for (auto& result : op.results) {
    writer.put(result.status);
    writer.put(result.length);
    bytes += result.length;
  }
  for (auto& time : op.times)
    writer.put(time);
  pack(writer, op.held);
  writer.put(op.parcel);
  writer.size(bytes);
}

void send_shared(wire::Link& link, std::uint64_t id,
                 const std::optional<Payload>& value) {
  Bytes head;
  Writer writer(head);
  writer.put(Op::shared);
  constexpr std::array<std::byte, share_padding> padding{};
  writer.raw(padding.data(), padding.size());
  writer.put(id);
  writer.put(value.has_value());
  writer.size(value ? value->size() : 0);
  link.send(share_stream, std::move(head), value.value_or(Payload()));
}

Op read_op(Reader& reader) {
  auto op = reader.get<std::uint8_t>();
  if (op > static_cast<std::uint8_t>(Op::timing))
    throw Error("operation " + std::to_string(op) + " does not exist");
  return static_cast<Op>(op);
}

OpenCall read_open(Reader& reader, const Payload& whole) {
  OpenCall op;
  op.call = reader.get<std::uint64_t>();
  op.single = reader.get<bool>();
  try {
    op.open = detail::unpack_function<detail::Open>(reader, detail::CodeKind::open);
  } catch (const Error& error) { // Fails the call's tasks only: the node lives on.
    op.problem = error.what();
  }
  op.state = part(reader, whole, reader.size());
  return op;
}

RunTasks read_run(Reader& reader, const Payload& whole) {
  RunTasks op;
  op.slot = reader.get<std::uint32_t>();
  op.first_seq = reader.get<std::uint64_t>();
  op.call = reader.get<std::uint64_t>();
  op.first_index = reader.get<std::uint64_t>();
  op.attempt = reader.get<std::uint32_t>();
  op.hold_us = reader.get<std::uint32_t>();
  op.lengths = unpack<std::vector<std::uint64_t>>(reader);
  std::uint64_t total = 0;
  for (auto length : op.lengths) {
    if (length > reader.rest().size())
      throw Error("a task announces more bytes than there are");
    total += length;
  }
  op.arguments = part(reader, whole, total);
  return op;
}

Recall read_recall(Reader& reader) {
  return reader.get<Recall>();
}

StopTask read_stop_task(Reader& reader) {
  return reader.get<StopTask>();
}

Ready read_ready(Reader& reader) {
  Ready op;
  op.incarnation = reader.get<std::uint64_t>();
  op.slots = reader.get<std::uint32_t>();
  op.pid = reader.get<std::int32_t>();
  op.build = reader.text();
  return op;
}

TaskResults read_results(Reader& reader, const Payload& whole, bool timed) {
  TaskResults op;
  op.slot = reader.get<std::uint32_t>();
  op.first_seq = reader.get<std::uint64_t>();
  op.busy_ns = reader.get<std::uint64_t>();
  op.longest_ns = reader.get<std::uint64_t>();
  auto count = reader.get<std::uint32_t>();
  if (count == 0)
    throw Error("results without a result");
  Reader entries(reader.raw(std::size_t{count} * 9));
  if (timed) {
    Reader times(reader.raw(count * sizeof(TaskTime)));
    op.times.reserve(count);
    while (op.times.size() < count) {
      auto began_ns = read_clock(times);
      op.times.push_back({began_ns, read_clock(times)});
    }
  }
  op.held = unpack<std::vector<detail::HeldId>>(reader);
  op.parcel = reader.get<std::uint64_t>();
  auto size = reader.size();
  op.bytes = part(reader, whole, size);
  op.results.reserve(count);
  std::uint64_t at = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    auto status = entries.get<std::uint8_t>();
    auto length = entries.get<std::uint64_t>();
    if (status > static_cast<std::uint8_t>(TaskResult::Status::overdue) ||
        length > size - at)
      throw Error("a result announces more bytes than there are");
    op.results.push_back({static_cast<TaskResult::Status>(status), length, at});
    if (op.results.back().status == TaskResult::Status::failure) {
      // Checked here, where a malformed failure costs the peer its link, so that the pool
      // can rely on it.
      Reader failure(op.bytes.bytes().subspan(at, length));
      read_failure(failure);
    }
    at += length;
  }
  return op;
}

std::int64_t read_clock(Reader& reader) {
  constexpr auto most = std::int64_t{1} << 61; // 73 years.
  auto ns = reader.get<std::int64_t>();
  if (ns < -most || ns > most)
    throw Error("a clock is at " + std::to_string(ns) + " ns");
  return ns;
}

HandedBack read_handed_back(Reader& reader) {
  return reader.get<HandedBack>();
}

Overdue read_overdue(Reader& reader) {
  return reader.get<Overdue>();
}

Failure read_failure(Reader& reader) {
  return unpack_failure(reader);
}

LogRecord read_log(Reader& reader) {
  LogRecord record;
  record.level = reader.get<std::uint8_t>();
  record.index = reader.get<std::uint64_t>();
  record.attempt = reader.get<std::uint32_t>();
  record.text = reader.text();
  if (record.level >= spdlog::level::off)
    throw Error("log level " + std::to_string(record.level) + " does not exist");
  return record;
}

} // namespace fiber::actors
