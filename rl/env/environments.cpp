// SPDX-License-Identifier: Apache-2.0
#include "fiber/rl/environments.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "fiber/rl/acrobot.hpp"
#include "fiber/rl/breakout.hpp"
#include "fiber/rl/cartpole.hpp"
#include "fiber/rl/knights_tour.hpp"
#include "fiber/rl/mountain_car_continuous.hpp"
#include "fiber/rl/pendulum.hpp"
#include "fiber/rl/wrappers.hpp"
#include "rl/env/robots.hpp"
#ifdef FIBER_HAS_BOX2D
#include <box2d/b2_common.h>

#include "fiber/rl/bipedal_walker.hpp"
#include "fiber/rl/lunar_lander.hpp"
#endif
#ifdef FIBER_HAS_MUJOCO
#include "fiber/rl/mujoco.hpp"
#endif

// Makes an environment of Gymnasium. Null unless the program is linked with
// fiber::rl_gym.
extern "C" [[gnu::weak]] fiber::rl::AnyEnvironment* fiber_rl_make_gym(const char* id);

namespace fiber::rl {
namespace {
namespace table {

struct Entry {
  std::string name;
  MakeEnvironment make;
  std::string (*physics)() = nullptr; ///< The engine and its version.
};

template <Environment E>
Entry entry(const char* name, std::string (*physics)() = nullptr) {
  return {name, [] { return erase<E>(); }, physics};
}

#ifdef FIBER_HAS_BOX2D
std::string box2d_version() {
  std::string text = "Box2D ";
  return text + std::to_string(b2_version.major) + '.' +
         std::to_string(b2_version.minor) + '.' + std::to_string(b2_version.revision);
}
#endif

#ifdef FIBER_HAS_MUJOCO
template <Environment E>
Entry of_mujoco(const char* name) {
  return entry<E>(name, &E::physics);
}

template <Environment E>
Entry of_mujoco_v4(const char* name) {
  return {name, [] { return erase<E>(MujocoVersion::v4); }, &E::physics};
}
#endif

/// Ours, then those of the program.
std::vector<Entry>& entries() {
  static std::vector<Entry> entries = {
    entry<CartPole>("cartpole"),
    entry<KeepObservations<CartPole, 0, 2>>("cartpole_no_velocity"),
    entry<Pendulum>("pendulum"),
    entry<KeepObservations<Pendulum, 0, 1>>("pendulum_no_velocity"),
    entry<Acrobot>("acrobot"),
    entry<MountainCarContinuous>("mountain_car_continuous"),
    entry<Breakout>("breakout"),
    entry<KnightsTour>("knights_tour"),
#ifdef FIBER_HAS_BOX2D
    entry<LunarLander>("lunar_lander", &box2d_version),
    entry<BipedalWalker>("bipedal_walker", &box2d_version),
    entry<BipedalWalkerHardcore>("bipedal_walker_hardcore", &box2d_version),
#endif
#ifdef FIBER_HAS_MUJOCO
    of_mujoco<InvertedPendulum>("inverted_pendulum"),
    of_mujoco_v4<InvertedPendulum>("inverted_pendulum_v4"),
    of_mujoco<InvertedDoublePendulum>("inverted_double_pendulum"),
    of_mujoco_v4<InvertedDoublePendulum>("inverted_double_pendulum_v4"),
    of_mujoco<Reacher>("reacher"),
    of_mujoco_v4<Reacher>("reacher_v4"),
    of_mujoco<Swimmer>("swimmer"),
    of_mujoco<Swimmer>("swimmer_v4"), // The same.
    of_mujoco<Hopper>("hopper"),
    of_mujoco_v4<Hopper>("hopper_v4"),
    of_mujoco<HalfCheetah>("half_cheetah"),
    of_mujoco<HalfCheetah>("half_cheetah_v4"), // The same.
    of_mujoco<Walker2d>("walker2d"),
    of_mujoco_v4<Walker2d>("walker2d_v4"),
    of_mujoco<Ant>("ant"),
    of_mujoco_v4<Ant>("ant_v4"),
    of_mujoco<Humanoid>("humanoid"),
    of_mujoco_v4<Humanoid>("humanoid_v4"),
#endif
  };
  return entries;
}

// Those that are built only with Box2D.
constexpr std::array<std::string_view, 3> box2d_names = {"lunar_lander", "bipedal_walker",
                                                         "bipedal_walker_hardcore"};

std::string known_names() {
  std::string names;
  for (const auto& entry : entries())
    names.append(names.empty() ? "" : ", ").append(entry.name);
  return names;
}

/// Whether a name is an id of Gymnasium: "CartPole-v1", "ALE/Breakout-v5".
bool is_gymnasium_id(const std::string& name) {
  return name.find('/') != std::string::npos || name.find("-v") != std::string::npos;
}

[[noreturn]] void reject(const std::string& name) {
  if (std::ranges::count(box2d_names, name) > 0)
    throw std::invalid_argument("environment " + name +
                                " needs Box2D, which this build is without: install "
                                "libbox2d-dev, and configure with -DFIBER_BOX2D=ON");
  if (robot_of(name))
    throw std::invalid_argument(
      "environment " + name +
      " needs MuJoCo, which this build is without: install libmujoco-dev, or set "
      "-DFIBER_MUJOCO_ROOT to a folder with include/mujoco and libmujoco.so, and "
      "configure with -DFIBER_MUJOCO=ON");
  if (is_gymnasium_id(name))
    throw std::invalid_argument(
      "environment " + name +
      " is one of Gymnasium, which this program is without: install libpython3-dev and "
      "pybind11-dev, run CMake again, and link fiber::rl_gym");
  throw std::invalid_argument("no environment " + name + "; there are " + known_names());
}

} // namespace table
} // namespace

void register_environment(const std::string& name, MakeEnvironment make,
                          std::string (*physics)()) {
  if (name.empty())
    throw std::invalid_argument("an environment can't be registered without a name");
  if (std::ranges::count(table::entries(), name, &table::Entry::name) > 0)
    throw std::invalid_argument("there is already an environment " + name);
  table::entries().push_back({name, std::move(make), physics});
}

std::unique_ptr<AnyEnvironment> make_environment(const std::string& name) {
  for (const auto& entry : table::entries())
    if (entry.name == name)
      return entry.make();
  if (fiber_rl_make_gym && table::is_gymnasium_id(name))
    return std::unique_ptr<AnyEnvironment>(fiber_rl_make_gym(name.c_str()));
  table::reject(name);
}

std::string physics_engine(const std::string& name) {
  for (const auto& entry : table::entries())
    if (entry.name == name && entry.physics)
      return entry.physics();
  return {};
}

std::vector<std::string> environment_names() {
  std::vector<std::string> names;
  for (const auto& entry : table::entries())
    names.emplace_back(entry.name);
  return names;
}

} // namespace fiber::rl
