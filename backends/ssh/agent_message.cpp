// SPDX-License-Identifier: Apache-2.0
#include "backends/ssh/agent_message.hpp"

#include <cstdint>
#include <utility>

namespace fiber::backends::ssh {

namespace {

constexpr std::size_t length_bytes = 4;
constexpr std::size_t max_message = 64 << 20;

[[noreturn]] void refuse(const std::string& problem) {
  throw EngineError("read a message of an agent", 0, problem);
}

AgentMessage binary_of(const Bytes& bytes) {
  const auto* begin = reinterpret_cast<const std::uint8_t*>(bytes.data());
  return AgentMessage::binary({begin, begin + bytes.size()});
}

Bytes bytes_of(const AgentMessage& message) {
  const auto& binary = message.get_binary();
  const auto* begin = reinterpret_cast<const std::byte*>(binary.data());
  return {begin, begin + binary.size()};
}

/// Calls `read`, and makes an EngineError of what JSON throws about a wrong message.
template <class Read>
auto checked(Read read) {
  try {
    return read();
  } catch (const AgentMessage::exception& error) {
    refuse(error.what());
  }
}

} // namespace

std::string packed(const AgentMessage& message) {
  std::string bytes(length_bytes, '\0');
  AgentMessage::to_cbor(message, nlohmann::detail::output_adapter<char>(bytes));
  auto size = bytes.size() - length_bytes;
  for (std::size_t at = 0; at < length_bytes; ++at, size >>= 8)
    bytes[at] = static_cast<char>(size & 0xff);
  return bytes;
}

std::optional<AgentMessage> MessageReader::next() {
  if (buffer_.size() < length_bytes)
    return {};
  std::size_t size = 0;
  for (std::size_t at = length_bytes; at-- > 0;)
    size = size << 8 | static_cast<unsigned char>(buffer_[at]);
  if (size > max_message)
    refuse("it has " + std::to_string(size) + " bytes");
  if (buffer_.size() < length_bytes + size)
    return {};
  const auto begin = buffer_.begin() + static_cast<std::ptrdiff_t>(length_bytes);
  const auto end = begin + static_cast<std::ptrdiff_t>(size);
  auto message = checked([&] { return AgentMessage::from_cbor(begin, end); });
  buffer_.erase(buffer_.begin(), end);
  if (!message.is_object() || !message.contains("is"))
    refuse("it has no kind");
  return message;
}

AgentMessage message_of(const JobEvent& event) {
  AgentMessage message{{"is", "event"},
                       {"kind", static_cast<int>(event.kind)},
                       {"job", event.job},
                       {"pid", event.pid},
                       {"detail", event.detail},
                       {"status", event.status},
                       {"disrupted", event.disrupted},
                       {"confirmed", event.confirmed}};
  if (event.exit_code)
    message["exit_code"] = *event.exit_code;
  return message;
}

JobEvent event_of(const AgentMessage& message) {
  return checked([&] {
    JobEvent event;
    const auto kind = message.at("kind").get<int>();
    if (kind < 0 || kind > static_cast<int>(JobEvent::Kind::failed))
      refuse("an event has the kind " + std::to_string(kind));
    event.kind = static_cast<JobEvent::Kind>(kind);
    event.job = message.at("job").get<std::string>();
    event.pid = message.at("pid").get<int>();
    if (message.contains("exit_code"))
      event.exit_code = message.at("exit_code").get<int>();
    event.detail = message.at("detail").get<std::string>();
    event.status = message.at("status").get<int>();
    event.disrupted = message.at("disrupted").get<bool>();
    event.confirmed = message.at("confirmed").get<bool>();
    return event;
  });
}

AgentMessage message_of(const JobSpec& spec) {
  return {{"is", "create"},
          {"job", spec.name},
          {"boot", binary_of(spec.boot)},
          {"keys", binary_of(spec.keys)},
          {"driver", spec.driver},
          {"cpu", spec.resources.cpu},
          {"memory_mb", spec.resources.memory_mb},
          {"gpu", spec.resources.gpu},
          {"environment", spec.environment}};
}

JobSpec spec_of(const AgentMessage& message) {
  return checked([&] {
    JobSpec spec;
    spec.name = message.at("job").get<std::string>();
    spec.boot = bytes_of(message.at("boot"));
    spec.keys = bytes_of(message.at("keys"));
    spec.driver = message.at("driver").get<std::string>();
    spec.link = false;
    spec.resources.cpu = message.at("cpu").get<double>();
    spec.resources.memory_mb = message.at("memory_mb").get<std::size_t>();
    spec.resources.gpu = message.at("gpu").get<int>();
    spec.environment =
      message.at("environment").get<std::map<std::string, std::string>>();
    return spec;
  });
}

} // namespace fiber::backends::ssh
