// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
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

void Spaces::check_actions(const std::string& owner) const {
  checked_actions(actions, owner);
  for (std::size_t i = 0; i < action_counts.size(); ++i)
    if (action_counts[i] < 1 || action_counts[i] > max_actions)
      throw std::invalid_argument(owner + " has " + std::to_string(action_counts[i]) +
                                  " choices in component " + std::to_string(i) +
                                  " of its multi-discrete actions; there must be 1 to " +
                                  std::to_string(max_actions));
  if ((actions > 0) + !action_counts.empty() + !action_low.empty() > 1)
    throw std::invalid_argument(
      owner + " has actions of two kinds: set only one of Spaces::actions (discrete), "
              "action_counts (multi-discrete), and action_low with action_high "
              "(continuous)");
  if (masked && !discrete())
    throw std::invalid_argument(
      owner + " is masked, which only discrete and multi-discrete actions can be");
}

void Spaces::check_choices(std::span<const float> action) const {
  const auto counts = choices();
  const auto single = actions > 0;
  if (action.size() != counts.size())
    throw std::invalid_argument(
      single ? "no action of this size; there are 0 to " + std::to_string(actions - 1)
             : "an action has " + std::to_string(counts.size()) + " choices, not " +
                 std::to_string(action.size()));
  for (std::size_t i = 0; i < counts.size(); ++i)
    if (!(action[i] >= 0 && action[i] < static_cast<float>(counts[i])))
      throw std::invalid_argument((single ? "no action " + detail::shown(action[i])
                                          : "no choice " + detail::shown(action[i]) +
                                              " of component " + std::to_string(i) +
                                              " of the action") +
                                  "; there are 0 to " + std::to_string(counts[i] - 1));
}

std::optional<std::size_t> impossible_component(const Spaces& spaces,
                                                std::span<const std::uint8_t> mask) {
  const auto counts = spaces.choices();
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const auto size = static_cast<std::size_t>(counts[i]);
    if (std::ranges::none_of(mask.first(size), [](auto possible) { return possible; }))
      return i;
    mask = mask.subspan(size);
  }
  return {};
}

} // namespace fiber::rl
