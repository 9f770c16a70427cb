// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "fiber/ring_member.hpp"

namespace fiber::detail {

std::size_t size_of(RingType type);

/// out[i] = a[i] op b[i], for n values; the mean is the sum here. `out` may be `a` or
/// `b`.
using RingReduce = void (*)(void* out, const void* a, const void* b, std::size_t n);
RingReduce ring_reduce(RingType type, RingOp op);

/// Makes the mean of sums of `members` values.
void divide(void* values, std::size_t n, RingType type, std::size_t members);

/// A part of n values that are split among members, the first ones of which may have one
/// more.
struct RingPart {
  std::size_t first = 0, n = 0;
};
RingPart ring_part(std::size_t n, std::size_t members, std::size_t rank);

} // namespace fiber::detail
