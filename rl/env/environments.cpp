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
#include "fiber/rl/mountain_car_continuous.hpp"
#include "fiber/rl/pendulum.hpp"
#ifdef FIBER_HAS_BOX2D
#include "fiber/rl/bipedal_walker.hpp"
#include "fiber/rl/lunar_lander.hpp"
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
};

template <Environment E>
Entry entry(const char* name) {
  return {name, [] { return erase<E>(); }};
}

/// Ours, then those of the program.
std::vector<Entry>& entries() {
  static std::vector<Entry> entries = {
    entry<CartPole>("cartpole"),
    entry<Pendulum>("pendulum"),
    entry<Acrobot>("acrobot"),
    entry<MountainCarContinuous>("mountain_car_continuous"),
    entry<Breakout>("breakout"),
#ifdef FIBER_HAS_BOX2D
    entry<LunarLander>("lunar_lander"),
    entry<BipedalWalker>("bipedal_walker"),
    entry<BipedalWalkerHardcore>("bipedal_walker_hardcore"),
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
  if (is_gymnasium_id(name))
    throw std::invalid_argument(
      "environment " + name +
      " is one of Gymnasium, which this program is without: install libpython3-dev and "
      "pybind11-dev, run CMake again, and link fiber::rl_gym");
  throw std::invalid_argument("no environment " + name + "; there are " + known_names());
}

} // namespace table
} // namespace

void register_environment(const std::string& name, MakeEnvironment make) {
  if (name.empty())
    throw std::invalid_argument("an environment can't be registered without a name");
  if (std::ranges::count(table::entries(), name, &table::Entry::name) > 0)
    throw std::invalid_argument("there is already an environment " + name);
  table::entries().push_back({name, std::move(make)});
}

std::unique_ptr<AnyEnvironment> make_environment(const std::string& name) {
  for (const auto& entry : table::entries())
    if (entry.name == name)
      return entry.make();
  if (fiber_rl_make_gym && table::is_gymnasium_id(name))
    return std::unique_ptr<AnyEnvironment>(fiber_rl_make_gym(name.c_str()));
  table::reject(name);
}

std::vector<std::string> environment_names() {
  std::vector<std::string> names;
  for (const auto& entry : table::entries())
    names.emplace_back(entry.name);
  return names;
}

} // namespace fiber::rl
