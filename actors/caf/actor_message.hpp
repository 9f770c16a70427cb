// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <typeinfo>

#include <caf/message.hpp>
#include <caf/message_builder.hpp>

#include "fiber/byte_stream.hpp"

// CAF messages as bytes for a process of the same build. CAF's own serialization writes
// node ids, which two containers may share, and wants its types registered by each
// system.

namespace fiber::actors {

/// A type that CAF has no number for, as the program has declared it.
struct MessageType {
  const std::type_info* type;
  void (*pack)(Writer& writer, const void* value);
  void (*append)(Reader& reader, caf::message_builder& message);
};
void declare_message(const MessageType& type);

/// Throws Error if a value in it is of a type that nobody has declared.
void pack_message(Writer& writer, const caf::type_erased_tuple& message);
/// Throws Error on anything malformed.
caf::message unpack_message(Reader& reader);
/// An error whose context can't travel goes without it.
void pack_error(Writer& writer, const caf::error& error);
caf::error unpack_error(Reader& reader);

} // namespace fiber::actors
