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
/// `physics`, if not null, returns what physics_engine() returns for this name.
///
/// Throws std::invalid_argument for a name that is empty or taken.
///
/// Thread safety: none; call it before other threads use names.
void register_environment(const std::string& name, MakeEnvironment make,
                          std::string (*physics)() = nullptr);

/// The same for a class: each environment is an E(). A class may name its physics engine
/// by `static std::string physics()`, as MujocoEnv does.
template <Environment E>
void register_environment(const std::string& name) {
  if constexpr (requires { std::string(E::physics()); })
    register_environment(
      name, [] { return erase<E>(); }, +[] { return std::string(E::physics()); });
  else
    register_environment(name, [] { return erase<E>(); });
}

/// The environment of this name, before its first reset(). Names that are not among
/// environment_names() are Gymnasium ids ("CartPole-v1", "ALE/Breakout-v5") if the
/// program is linked with fiber::rl_gym.
///
/// Throws std::invalid_argument for an unknown name, listing the known ones, and for an
/// environment that this build lacks, naming the package that it needs.
std::unique_ptr<AnyEnvironment> make_environment(const std::string& name);

/// The physics engine of the environment of this name, and its version: "MuJoCo 2.2.2".
/// Empty if the environment has none or has not named it, and for other names. A policy
/// plays a little differently with another version.
std::string physics_engine(const std::string& name);

/// The names that make_environment() takes, without Gymnasium ids.
std::vector<std::string> environment_names();

} // namespace fiber::rl
