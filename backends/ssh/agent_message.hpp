// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "backends/backend.hpp"

namespace fiber::backends::ssh {

// Messages between driver and agent, over the connection's stdin and stdout: JSON in
// CBOR, behind its length in four bytes, lowest first. Each has one member "is", its
// kind:
//
// driver to agent
//   begin      environment, words (argv), directory, session, hide_gpus, lease (ms)
//   reach      address: can you connect to it?
//   create     job and its parameters
//   terminate  job, grace (ms)
//   read       bytes: so much more output may come
//   ping
// agent to driver
//   agent      build, cpus, gpus
//   reached    address, problem: empty if it was reached
//   event      as JobEvent
//   output     job, text
//   pong
using AgentMessage = nlohmann::json;

/// Returns a message with its length.
std::string packed(const AgentMessage& message);

/// Cuts a stream of bytes into messages.
class MessageReader {
public:
  void add(std::string_view bytes) { buffer_ += bytes; }
  /// Returns the next message; nothing if it is not complete. Throws EngineError on
  /// anything that is no message.
  std::optional<AgentMessage> next();

private:
  std::string buffer_;
};

AgentMessage message_of(const JobEvent& event);
JobEvent event_of(const AgentMessage& message); ///< Throws EngineError.

/// Without image, labels and page, which a host does not know.
AgentMessage message_of(const JobSpec& spec);
JobSpec spec_of(const AgentMessage& message); ///< Throws EngineError.

/// How much output may be on its way from an agent.
inline constexpr std::size_t max_output_on_the_way = 1 << 20;

/// What the agent writes, with the number that it was given, when messages follow.
inline constexpr std::string_view agent_greeting = "@fiber-agent ";

} // namespace fiber::backends::ssh
