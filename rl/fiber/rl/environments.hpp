// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "fiber/rl/environment.hpp"

// Environments by the names that a program's user gives: "cartpole", "lunar_lander".

namespace fiber::rl {

/// Makes an environment, before its first reset().
using MakeEnvironment = std::function<std::unique_ptr<AnyEnvironment>()>;

/// Gives an environment of your own a name. AnyVecEnv, evaluate(), es_train and ppo then
/// take that name. Call it in main() before fiber::init(): jobs run main() up to there,
/// so that they know the name as well.
///
/// Throws std::invalid_argument for a name that is empty or taken.
///
/// Thread safety: none; call it before other threads use names.
void register_environment(const std::string& name, MakeEnvironment make);

/// The same for a class: each environment is an E().
template <Environment E>
void register_environment(const std::string& name) {
  register_environment(name, [] { return erase<E>(); });
}

/// The environment of this name, before its first reset(). Names that are not among
/// environment_names() are Gymnasium ids ("CartPole-v1", "ALE/Breakout-v5") if the
/// program is linked with fiber::rl_gym.
///
/// Throws std::invalid_argument for an unknown name, listing the known ones, and for an
/// environment that this build lacks, naming the package that it needs.
std::unique_ptr<AnyEnvironment> make_environment(const std::string& name);

/// The names that make_environment() takes, without Gymnasium ids.
std::vector<std::string> environment_names();

} // namespace fiber::rl
