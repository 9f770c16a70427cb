// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <typeinfo>

#include <caf/message.hpp>
#include <caf/message_builder.hpp>

#include "fiber/byte_stream.hpp"
#include "fiber/detail/caf/message_content.hpp"

// Packs CAF messages for a process of the same build. CAF's own serialization writes node
// ids, which two containers may share, and requires that each actor system registers its
// types.

namespace fiber::actors {

/// A message type of the program.
struct MessageType {
  detail::TypeKey key;
  const std::type_info* type;
  void (*pack)(Writer& writer, const void* value);
  void (*append)(Reader& reader, caf::message_builder& message);
  std::string identity = {}; ///< type_identity(*type): set by declare_message().
};
void declare_message(const MessageType& type);

/// Throws Error if the program has not declared the type of a value in it.
void pack_message(Writer& writer, const detail::MessageContent& message);
/// Throws Error on malformed input.
caf::message unpack_message(Reader& reader);
/// A context that can't be packed is replaced by its text.
void pack_error(Writer& writer, const caf::error& error);
caf::error unpack_error(Reader& reader);

} // namespace fiber::actors
