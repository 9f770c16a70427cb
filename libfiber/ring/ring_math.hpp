// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "fiber/ring_member.hpp"

namespace fiber::detail {

std::size_t size_of(RingType type);

/// Computes out[i] = a[i] op b[i] for n values; `mean` adds. `out` may be `a` or `b`.
using RingReduce = void (*)(void* out, const void* a, const void* b, std::size_t n);
RingReduce ring_reduce(RingType type, RingOp op);

/// Divides sums of `members` values, which yields their mean.
void divide(void* values, std::size_t n, RingType type, std::size_t members);

/// A member's part of n values. Parts of the first members may be one value longer.
struct RingSlice {
  std::size_t first = 0, n = 0;
};
RingSlice ring_part(std::size_t n, std::size_t members, std::size_t rank);

} // namespace fiber::detail
