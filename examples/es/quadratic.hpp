// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

#include "es/environment.hpp"

namespace es {

/// The function of the GECCO 2020 tutorial on Fiber: minus the squared distance to
/// (5, -5, 1.5), best 0. An episode is one step without observation, and the action is
/// the point: a policy for it has no weights but its three outputs, the point searched
/// for.
class Quadratic : public Environment {
public:
  static constexpr std::array<float, 3> target = {5.0f, -5.0f, 1.5f};

  std::size_t observation_size() const override { return 0; }
  std::size_t action_size() const override { return target.size(); }
  std::size_t step_limit() const override { return 1; }
  std::span<const float> observation() const override { return {}; }

private:
  void start(Random&) override {}
  Step advance(std::span<const float> action) override;
};

} // namespace es
