// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "fiber/rl/policy.hpp"

namespace fiber::rl {

/// Draws an action for each row of a policy's outputs, which are logits or means. Writes
/// the actions, and the natural logarithms of their probabilities. `log_std`: for
/// continuous actions, one number for each component, or for each of each row.
void draw_actions(const Spaces& spaces, std::span<const float> outputs,
                  std::span<const float> log_std, const SampleKey& key,
                  std::vector<float>& actions, std::vector<float>& log_probabilities);

/// The most probable action for each row: the number of the largest logit (the first of
/// equal ones), or the means.
void choose_actions(const Spaces& spaces, std::span<const float> outputs,
                    std::vector<float>& actions);

} // namespace fiber::rl
