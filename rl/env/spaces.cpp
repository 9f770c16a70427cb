// SPDX-License-Identifier: Apache-2.0
#include <set>
#include <stdexcept>
#include <string>

#include "fiber/rl/environment.hpp"

namespace fiber::rl {

int Spaces::checked_actions(long long count, const std::string& owner) {
  if (count > max_actions)
    throw std::invalid_argument(owner + " has " + std::to_string(count) +
                                " discrete actions; there may be at most " +
                                std::to_string(max_actions) +
                                ", as an action is a float, which has no exact value for "
                                "each whole number beyond");
  return static_cast<int>(count);
}

PartPlace Spaces::part(std::string_view name) const {
  std::size_t offset = 0;
  std::string names;
  for (const auto& part : observation_parts) {
    if (part.name == name)
      return {offset, part.size};
    offset += part.size;
    names += (names.empty() ? "" : ", ") + part.name;
  }
  throw std::invalid_argument(
    "an observation has no part '" + std::string(name) +
    "': " + (names.empty() ? "its parts have no names" : "there are " + names));
}

void Spaces::check_parts() const {
  std::size_t sum = 0;
  std::set<std::string_view> names;
  for (const auto& part : observation_parts) {
    if (part.name.empty() || !names.insert(part.name).second)
      throw std::invalid_argument(
        "each part of an observation needs a name of its own, unlike '" + part.name +
        '\'');
    sum += part.size;
  }
  if (!observation_parts.empty() && sum != observation_size())
    throw std::invalid_argument(
      "the parts of an observation have " + std::to_string(sum) +
      " numbers in all, but an observation has " + std::to_string(observation_size()) +
      ": set the sizes in observation_parts to what "
      "observe() writes");
}

} // namespace fiber::rl
