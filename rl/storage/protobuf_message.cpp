// SPDX-License-Identifier: Apache-2.0
#include "rl/storage/protobuf_message.hpp"

#include "rl/storage/little_endian.hpp"

namespace fiber::rl::storage {
namespace {
namespace protobuf_wire {

enum Type : std::uint64_t { varint = 0, fixed64 = 1, length = 2, fixed32 = 5 };

void put_varint(std::string& out, std::uint64_t number) {
  for (; number >= 0x80; number >>= 7)
    out += static_cast<char>((number & 0x7f) | 0x80);
  out += static_cast<char>(number);
}

void put_key(std::string& out, std::uint64_t field, Type type) {
  put_varint(out, field << 3 | type);
}

} // namespace protobuf_wire
} // namespace

void ProtobufMessage::number(std::uint64_t field, std::uint64_t value) {
  protobuf_wire::put_key(text_, field, protobuf_wire::varint);
  protobuf_wire::put_varint(text_, value);
}

void ProtobufMessage::bytes(std::uint64_t field, std::string_view value) {
  protobuf_wire::put_key(text_, field, protobuf_wire::length);
  protobuf_wire::put_varint(text_, value.size());
  text_ += value;
}

void ProtobufMessage::fixed(std::uint64_t field, float value) {
  protobuf_wire::put_key(text_, field, protobuf_wire::fixed32);
  put_fixed(text_, value);
}

void ProtobufMessage::fixed(std::uint64_t field, double value) {
  protobuf_wire::put_key(text_, field, protobuf_wire::fixed64);
  put_fixed(text_, value);
}

} // namespace fiber::rl::storage
