// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>

#include "fiber/bytes.hpp"

namespace fiber {

/// Returns the place that is so many bytes behind a place of detail::pack_code().
inline Bytes behind(Bytes place, std::uint64_t bytes) {
  std::uint64_t offset = 0; // It stands at the end.
  auto* at = place.data() + place.size() - sizeof offset;
  std::memcpy(&offset, at, sizeof offset);
  offset += bytes;
  std::memcpy(at, &offset, sizeof offset);
  return place;
}

} // namespace fiber
