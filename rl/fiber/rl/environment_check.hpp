// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "fiber/rl/environment.hpp"

namespace fiber::rl {

/// Finds mistakes in an environment before a training meets them, or hides them. It plays
/// the first steps of an episode, and begins another one. es_train and ppo do this first;
/// it is also useful in tests of an environment.
///
/// Throws std::invalid_argument, which says what is wrong and what would be right, if
/// - the bounds of its actions are not as many for low as for high, or a lower bound is
///   above the upper one;
/// - observe() writes beyond its span, does not write all of it, or writes a number that
///   is not finite;
/// - the sizes of named parts do not add up to that of an observation;
/// - it has two kinds of actions, or a mask of continuous ones;
/// - mask() writes beyond its span, does not write all of it, writes a number other than
/// 0
///   and 1, or forbids each choice of a component;
/// - a reward is not finite.
///
/// What the environment throws becomes a std::runtime_error that also names the step. If
/// it crashes the process, a line on stderr names the step.
void check_environment(AnyEnvironment& environment);

/// The same for a new environment of this name. Errors name the environment.
void check_environment(const std::string& name);

} // namespace fiber::rl
