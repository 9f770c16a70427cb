// SPDX-License-Identifier: Apache-2.0
#include "actors/protocol/node_boot.hpp"

#include <charconv>

#include "fiber/error.hpp"
#include "fiber/value.hpp"

namespace fiber::actors {

std::string NodeBoot::address() const {
  return host.empty() ? std::string() : host + ":" + std::to_string(port);
}

void NodeBoot::set_address(const std::string& address) {
  const auto colon = address.rfind(':');
  const auto* end = address.data() + address.size();
  const auto digits =
    address.data() + (colon == address.npos ? address.size() : colon + 1);
  std::uint16_t number = 0;
  if (auto parsed = std::from_chars(digits, end, number);
      colon == 0 || parsed.ec != std::errc() || parsed.ptr != end)
    throw Error("'" + address + "' is no address of a driver; valid: HOST:PORT");
  host = address.substr(0, colon);
  port = number;
}

Bytes NodeBoot::pack() const {
  Bytes bytes;
  Writer writer(bytes);
  writer.put(incarnation);
  writer.text(name);
  writer.put(first_rank);
  writer.put(slots);
  writer.put(heartbeat_interval.count());
  writer.put(lease.count());
  writer.text(log_level);
  writer.text(host);
  writer.put(port);
  writer.text(session);
  writer.put(session_tag);
  writer.put(task_timeout.count());
  writer.text(chaos);
  writer.put(max_retries);
  writer.put(trace);
  writer.put(initializer);
  writer.put(use);
  return bytes;
}

NodeBoot NodeBoot::unpack(const Bytes& bytes) {
  Reader reader(bytes);
  NodeBoot boot;
  boot.incarnation = reader.get<std::uint64_t>();
  boot.name = reader.text();
  boot.first_rank = reader.get<std::size_t>();
  boot.slots = reader.get<std::size_t>();
  using Milliseconds = std::chrono::milliseconds;
  boot.heartbeat_interval = Milliseconds(reader.get<Milliseconds::rep>());
  boot.lease = Milliseconds(reader.get<Milliseconds::rep>());
  boot.log_level = reader.text();
  boot.host = reader.text();
  boot.port = reader.get<std::uint16_t>();
  boot.session = reader.text();
  boot.session_tag = reader.get<std::uint64_t>();
  using Nanoseconds = std::chrono::nanoseconds;
  boot.task_timeout = Nanoseconds(reader.get<Nanoseconds::rep>());
  boot.chaos = reader.text();
  boot.max_retries = reader.get<int>();
  boot.trace = reader.get<bool>();
  boot.initializer = reader.get<bool>();
  boot.use = reader.get<NodeUse>();
  return boot;
}

} // namespace fiber::actors
