// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <type_traits>

#include "fiber/value.hpp"

// Handles (queues, connections, Refs, shared values, ...) as members of classes with a
// serialize(): archive & handle.

namespace fiber::detail {

/// Writes as a block of bytes what `write` writes.
template <class Archive, class Write>
void save_block(Archive& archive, Write write) {
  Bytes bytes;
  Writer writer(bytes);
  write(writer);
  auto size = bytes.size();
  archive << size;
  archive.save_binary(bytes.data(), size);
}
/// Returns what `read` makes of it.
template <class Archive, class Read>
std::invoke_result_t<Read&, Reader&> load_block(Archive& archive, Read read) {
  std::size_t size = 0;
  archive >> size;
  Bytes bytes(size);
  archive.load_binary(bytes.data(), size);
  Reader reader(bytes);
  return read(reader);
}

} // namespace fiber::detail

namespace boost::serialization {

// `const` as in Boost's own, else clang 16 compares no constraints.
template <class Archive, fiber::detail::SelfPacking Handle>
void serialize(Archive& archive, Handle& handle, const unsigned) {
  if constexpr (Archive::is_saving::value)
    fiber::detail::save_block(archive, [&](auto& writer) { handle.fiber_pack(writer); });
  else
    handle = fiber::detail::load_block(
      archive, [](auto& reader) { return Handle::fiber_unpack(reader); });
}

} // namespace boost::serialization
