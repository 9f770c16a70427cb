// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "fiber/value.hpp"

// Lets classes with a serialize() have handles (queues, connections, Refs, shared values)
// as members: archive & handle.

namespace fiber::detail {

/// Saves the output of `write` as one block of bytes.
template <class Archive, class Write>
void save_block(Archive& archive, Write write) {
  Bytes bytes;
  Writer writer(bytes);
  write(writer);
  auto size = bytes.size();
  archive << size;
  archive.save_binary(bytes.data(), size);
}
/// Loads such a block and returns what `read` makes of it.
template <class Archive, class Read>
auto load_block(Archive& archive, Read read) {
  std::size_t size = 0;
  archive >> size;
  Bytes bytes(size);
  archive.load_binary(bytes.data(), size);
  Reader reader(bytes);
  return read(reader);
}

} // namespace fiber::detail

namespace boost::serialization {

// `const` as in Boost's own template; otherwise clang 16 does not compare constraints.
template <class Archive, fiber::detail::SelfPacking Handle>
void serialize(Archive& archive, Handle& handle, const unsigned) {
  if constexpr (Archive::is_saving::value)
    fiber::detail::save_block(archive, [&](auto& writer) { handle.fiber_pack(writer); });
  else
    handle = fiber::detail::load_block(
      archive, [](auto& reader) { return Handle::fiber_unpack(reader); });
}

} // namespace boost::serialization
