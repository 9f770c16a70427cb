// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "fiber/rl/policy.hpp"

namespace fiber::rl {

/// Sets the logits of what `masks` forbids to -infinity, which is the probability 0
/// (Huang and Ontanon 2020, arXiv 2006.14171). Throws std::invalid_argument unless there
/// are spaces.mask_size() bytes for each row of logits, and for a row whose mask forbids
/// each choice of a component.
void apply_masks(const Spaces& spaces, std::span<const std::uint8_t> masks,
                 std::span<float> logits);

/// The natural logarithm of an action's probability, of all components together, from the
/// policy's outputs for one observation.
double log_probability_of(const Spaces& spaces, std::span<const float> outputs,
                          std::span<const float> log_std, std::span<const float> action);

/// Draws an action for each row of a policy's outputs, which are logits or means. Writes
/// the actions, and the natural logarithms of their probabilities. `log_std`: for
/// continuous actions, one number for each component, or for each of each row.
void draw_actions(const Spaces& spaces, std::span<const float> outputs,
                  std::span<const float> log_std, const SampleKey& key,
                  std::vector<float>& actions, std::vector<float>& log_probabilities);

/// The most probable action for each row: the number of the largest logit (the first of
/// equal ones) in each component, or the means.
void choose_actions(const Spaces& spaces, std::span<const float> outputs,
                    std::vector<float>& actions);

} // namespace fiber::rl
