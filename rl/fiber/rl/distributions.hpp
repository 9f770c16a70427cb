// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include "fiber/rl/environment.hpp"
#include "fiber/rl/random.hpp"

namespace fiber::rl {

// What a policy's outputs mean. Sums are taken in double.

/// Draws from the categorical distribution of these logits. Throws std::invalid_argument
/// if there are none.
std::size_t sample_categorical(std::span<const float> logits, Random& random);
/// The natural logarithm of an action's probability. Throws std::out_of_range if there is
/// no such action.
double categorical_log_probability(std::span<const float> logits, std::size_t action);
/// In nats.
double categorical_entropy(std::span<const float> logits);
/// The index of the largest logit; the first one if several are equal.
std::size_t most_probable(std::span<const float> logits);

/// Draws each component from its own normal distribution: mean + exp(log_std) times
/// a standard normal number. All spans are of one size, or std::invalid_argument is
/// thrown.
void sample_gaussian(std::span<const float> means, std::span<const float> log_std,
                     Random& random, std::span<float> action);
/// The natural logarithm of the density at an action, over all components.
double gaussian_log_probability(std::span<const float> means,
                                std::span<const float> log_std,
                                std::span<const float> action);
/// In nats, over all components.
double gaussian_entropy(std::span<const float> log_std);

/// Clips each component of continuous actions to its bounds. `actions` holds one action
/// after another. Discrete actions stay as they are. Throws std::invalid_argument unless
/// these are whole actions.
void limit_actions(const Spaces& spaces, std::span<float> actions);

} // namespace fiber::rl
