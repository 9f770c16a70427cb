// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "fiber/ring_member.hpp"
#include "libfiber/ring/ring_rounds.hpp"

// The collectives of RingMember in rounds (ring_rounds.hpp). Values are combined by rank:
// the first with the second, the result with the third, and so on. So all members get the
// same bits, which depend on nothing but the values.

namespace fiber::detail {

void broadcast(RingRounds& rounds, std::byte* values, std::size_t bytes,
               std::size_t root);
void allgather(RingRounds& rounds, const std::byte* values, std::size_t bytes,
               std::byte* all);
/// `mean` adds.
void allreduce(RingRounds& rounds, std::byte* values, std::size_t n, RingType type,
               RingOp op);
/// `mean` adds.
void reduce_scatter(RingRounds& rounds, const std::byte* values, std::size_t n,
                    RingType type, RingOp op, std::byte* part);

} // namespace fiber::detail
