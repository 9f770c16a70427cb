// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "fiber/rl/acrobot.hpp"
#include "fiber/rl/breakout.hpp"
#include "fiber/rl/cartpole.hpp"
#include "fiber/rl/environment.hpp"
#include "fiber/rl/mountain_car_continuous.hpp"
#include "fiber/rl/pendulum.hpp"
#ifdef FIBER_HAS_BOX2D
#include "fiber/rl/bipedal_walker.hpp"
#include "fiber/rl/lunar_lander.hpp"
#endif

namespace fiber::rl {

/// A class of environment, and the name that a program's user gives.
template <Environment E>
struct NamedEnvironment {
  using type = E;
  std::string_view name;
};

/// The environments of this build, for programs that need their types:
///
///   std::apply([&](auto... each) {
///     ((each.name == name ? run<typename decltype(each)::type>() : void()), ...);
///   }, native_environments);
///
/// A new environment gets a row here, and with it a name in make_environment().
inline constexpr std::tuple native_environments{
  NamedEnvironment<CartPole>{"cartpole"},
  NamedEnvironment<Pendulum>{"pendulum"},
  NamedEnvironment<Acrobot>{"acrobot"},
  NamedEnvironment<MountainCarContinuous>{"mountain_car_continuous"},
  NamedEnvironment<Breakout>{"breakout"},
#ifdef FIBER_HAS_BOX2D
  NamedEnvironment<LunarLander>{"lunar_lander"},
  NamedEnvironment<BipedalWalker>{"bipedal_walker"},
  NamedEnvironment<BipedalWalkerHardcore>{"bipedal_walker_hardcore"},
#endif
};

/// The environment of this name, before its first reset(). In a program that is linked
/// with fiber::rl_gym a name with a '/' or "-v" is one of Gymnasium: see
/// fiber/rl/gym.hpp. Throws std::invalid_argument for a name that there is not, with
/// those that there are, and for one that this build lacks, with the package that it
/// needs.
std::unique_ptr<AnyEnvironment> make_environment(const std::string& name);

/// The names that make_environment() takes in this build.
std::vector<std::string> environment_names();

} // namespace fiber::rl
