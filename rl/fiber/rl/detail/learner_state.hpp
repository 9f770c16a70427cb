// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include <boost/serialization/vector.hpp>

namespace fiber::rl::detail {

/// The networks that PPO trains, and their optimiser.
struct LearnerState {
  std::vector<float> parameters = {}, first_moments = {}, second_moments = {};
  std::uint64_t steps = 0; ///< Of Adam.
  std::uint64_t updates = 0;

  friend bool operator==(const LearnerState&, const LearnerState&) = default;

  template <class Archive>
  void serialize(Archive& archive, unsigned) {
    archive& parameters& first_moments& second_moments& steps& updates;
  }
};

} // namespace fiber::rl::detail
