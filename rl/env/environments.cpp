// SPDX-License-Identifier: Apache-2.0
#include "fiber/rl/environments.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

// Makes an environment of Gymnasium. Null unless the program is linked with
// fiber::rl_gym.
extern "C" [[gnu::weak]] fiber::rl::AnyEnvironment* fiber_rl_make_gym(const char* id);

namespace fiber::rl {
namespace {
namespace table {

struct Entry {
  std::string_view name;
  std::unique_ptr<AnyEnvironment> (*make)();
};

template <Environment E>
std::unique_ptr<AnyEnvironment> make() {
  return erase<E>();
}

constexpr auto entries = std::apply(
  [](auto... each) {
    return std::array{Entry{each.name, make<typename decltype(each)::type>}...};
  },
  native_environments);

// Those that are built only with Box2D.
constexpr std::array<std::string_view, 3> box2d_names = {"lunar_lander", "bipedal_walker",
                                                         "bipedal_walker_hardcore"};

std::string known_names() {
  std::string names;
  for (const auto& entry : entries)
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

std::unique_ptr<AnyEnvironment> make_environment(const std::string& name) {
  for (const auto& entry : table::entries)
    if (entry.name == name)
      return entry.make();
  if (fiber_rl_make_gym && table::is_gymnasium_id(name))
    return std::unique_ptr<AnyEnvironment>(fiber_rl_make_gym(name.c_str()));
  table::reject(name);
}

std::vector<std::string> environment_names() {
  std::vector<std::string> names;
  for (const auto& entry : table::entries)
    names.emplace_back(entry.name);
  return names;
}

} // namespace fiber::rl
