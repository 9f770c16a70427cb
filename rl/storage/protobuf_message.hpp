// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace fiber::rl::storage {

/// A message in the wire format of protobuf, field by field, without its library. A field
/// that is repeated is written several times.
class ProtobufMessage {
public:
  void number(std::uint64_t field, std::uint64_t value);   ///< int64, enum or bool.
  void bytes(std::uint64_t field, std::string_view value); ///< bytes or string.
  void message(std::uint64_t field, const ProtobufMessage& value) {
    bytes(field, value.text_);
  }
  void fixed(std::uint64_t field, float value);
  void fixed(std::uint64_t field, double value);

  const std::string& text() const { return text_; } ///< As it is in a file.

private:
  std::string text_;
};

} // namespace fiber::rl::storage
