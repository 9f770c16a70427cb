// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <type_traits>

#include "fiber/value.hpp"

// Lets a serialize() member archive handles (queues, connections, Refs, shared values,
// ...) like any other member: archive & handle.

namespace fiber::detail {

/// Archives the bytes that `write` writes, and their number.
template <class Archive, class Write>
void save_block(Archive& archive, Write write) {
  Bytes bytes;
  Writer writer(bytes);
  write(writer);
  auto size = bytes.size();
  archive << size;
  archive.save_binary(bytes.data(), size);
}
/// Returns what `read` makes of the bytes of save_block().
template <class Archive, class Read>
std::invoke_result_t<Read&, Reader&> load_block(Archive& archive, Read read) {
  std::size_t size = 0;
  archive >> size;
  if constexpr (requires { archive.block(size); }) {
    Reader reader(archive.block(size));
    return read(reader);
  } else { // An archive of yours: how many bytes are left in it is not known.
    Bytes bytes;
    while (bytes.size() < size) {
      auto part = std::min<std::size_t>(size - bytes.size(), 1 << 20);
      bytes.resize(bytes.size() + part);
      archive.load_binary(bytes.data() + bytes.size() - part, part);
    }
    Reader reader(bytes);
    return read(reader);
  }
}

} // namespace fiber::detail

namespace boost::serialization {

// `const` as in Boost's own template: else clang 16 does not compare constraints.
template <class Archive, fiber::detail::SelfPacking Handle>
void serialize(Archive& archive, Handle& handle, const unsigned) {
  if constexpr (Archive::is_saving::value)
    fiber::detail::save_block(archive, [&](auto& writer) { handle.fiber_pack(writer); });
  else
    handle = fiber::detail::load_block(
      archive, [](auto& reader) { return Handle::fiber_unpack(reader); });
}

} // namespace boost::serialization
