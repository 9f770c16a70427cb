// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <type_traits>

#include "fiber/ring_member.hpp"

namespace fiber::detail {

/// What a member calls. With RingOptions::check, the members tell each other before they
/// exchange values.
struct RingStep {
  enum class Call : std::uint16_t {
    barrier,
    broadcast,
    allreduce,
    allgather,
    reduce_scatter,
    send,
    leave ///< The function has returned.
  };

  std::uint64_t n = 0;    ///< Values.
  std::uint32_t root = 0; ///< Of a broadcast.
  Call call = Call::barrier;
  RingType type = RingType::f32;
  RingOp op = RingOp::sum;

  friend bool operator==(const RingStep&, const RingStep&) = default;
};
static_assert(std::has_unique_object_representations_v<RingStep>); // Sent as it is.

/// The name of a call, as in "allreduce".
const char* name_of(RingStep::Call call);
/// The number and the type of the values, as in "4 float".
std::string values_text(const RingStep& step);
/// As in "allreduce of 4 float by Sum".
std::string text_of(const RingStep& step);
/// Returns which ranks call what, if the members, by rank, do not all call the same.
std::optional<std::string> difference(std::span<const RingStep> members);

} // namespace fiber::detail
