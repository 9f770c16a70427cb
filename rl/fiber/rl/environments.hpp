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

/// Gives an environment of your own a name, so that everything that takes names takes it:
/// AnyVecEnv, evaluate(), es_train's and ppo's training. Call it in main() before
/// fiber::init(): jobs run main() up to there, and so know the name, too.
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

/// The environment of this name, before its first reset(). Other names than those of
/// environment_names() are ids of Gymnasium ("CartPole-v1", "ALE/Breakout-v5") if the
/// program is linked with fiber::rl_gym.
///
/// Throws std::invalid_argument for a name that there is not, with those that there are,
/// and for one that this build lacks, with the package that it needs.
std::unique_ptr<AnyEnvironment> make_environment(const std::string& name);

/// The names that make_environment() takes, but for those of Gymnasium.
std::vector<std::string> environment_names();

} // namespace fiber::rl
