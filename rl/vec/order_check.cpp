// SPDX-License-Identifier: Apache-2.0
#include "rl/vec/order_check.hpp"

#include <cmath>
#include <stdexcept>

#include "fiber/rl/detail/number_text.hpp"

namespace fiber::rl::vec {
namespace order_errors {
namespace {

/// Those of `ids` for which `bad` holds.
template <class Bad>
std::vector<int> those(std::span<const int> ids, Bad bad) {
  std::vector<int> found;
  for (const int id : ids)
    if (bad(id))
      found.push_back(id);
  return found;
}

/// Throws if there are any: "environment 3 <has>" or "environments 3, 4 <have>".
template <class E>
void refuse(const std::vector<int>& ids, const std::string& one,
            const std::string& many) {
  if (!ids.empty())
    throw E(name_envs(ids) + " " + (ids.size() == 1 ? one : many));
}

std::string action_of(int id) {
  return "the action of environment " + std::to_string(id);
}

/// `mask`: empty if all actions are possible.
void check_choices(std::span<const float> action, int id, const Spaces& spaces,
                   std::span<const std::uint8_t> mask) {
  const auto counts = spaces.choices();
  std::size_t begin = 0; // Of the component's choices in the mask.
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const auto value = action[i];
    const auto refuse = [&](const std::string& why) {
      const auto component =
        counts.size() == 1 ? "" : ", component " + std::to_string(i) + ",";
      throw std::invalid_argument(action_of(id) + component + " is " +
                                  detail::shown(value) + why);
    };
    if (!(value >= 0 && value < static_cast<float>(counts[i]) &&
          value == std::floor(value)))
      refuse("; there are 0 to " + std::to_string(counts[i] - 1));
    if (!mask.empty() && mask[begin + static_cast<std::size_t>(value)] == 0)
      refuse(", which its mask forbids: Batch::masks says what is possible");
    begin += static_cast<std::size_t>(counts[i]);
  }
}

} // namespace
} // namespace order_errors

std::string name_envs(std::span<const int> ids) {
  constexpr std::size_t most = 8;
  std::string text = ids.size() == 1 ? "environment " : "environments ";
  for (std::size_t i = 0; i < ids.size() && i < most; ++i)
    text += (i > 0 ? ", " : "") + std::to_string(ids[i]);
  if (ids.size() > most)
    text += " and " + std::to_string(ids.size() - most) + " more";
  return text;
}

void check_ids(std::span<const int> ids, std::size_t envs) {
  using namespace order_errors;
  std::vector<char> seen(envs);
  std::vector<int> unknown, twice;
  for (const int id : ids)
    if (id < 0 || static_cast<std::size_t>(id) >= envs)
      unknown.push_back(id);
    else if (seen[static_cast<std::size_t>(id)]++ == 1)
      twice.push_back(id);
  const auto range = "; there are 0 to " + std::to_string(envs - 1);
  refuse<std::invalid_argument>(unknown, "is not there" + range, "are not there" + range);
  refuse<std::invalid_argument>(twice, "is named twice", "are named twice");
}

void check_idle(const EpisodeBook& book, std::span<const int> ids, const char* call) {
  using namespace order_errors;
  const std::string what = std::string(call) + ": recv() must return ";
  refuse<std::logic_error>(those(ids, [&](int id) { return book.in_flight(id); }),
                           "is in flight and can't take a " + what + "its row first",
                           "are in flight and can't take a " + what + "their rows first");
}

void check_can_step(const EpisodeBook& book, std::span<const int> ids,
                    Autoreset autoreset) {
  using namespace order_errors;
  for (const int id : ids)
    if (const auto& failure = book.failure(id))
      throw std::logic_error("environment " + std::to_string(id) +
                             " has failed and needs reset({" + std::to_string(id) +
                             "}) before a step; it said: " + *failure);
  refuse<std::logic_error>(those(ids, [&](int id) { return !book.has_begun(id); }),
                           "was never reset: call reset() before a step",
                           "were never reset: call reset() before a step");
  if (autoreset == Autoreset::disabled)
    refuse<std::logic_error>(
      those(ids, [&](int id) { return book.done(id); }),
      "has come to the end of its episode and needs reset(ids) before a step, as "
      "autoreset is disabled",
      "have come to the end of their episodes and need reset(ids) before a step, as "
      "autoreset is disabled");
}

void check_actions(std::span<const float> actions, std::span<const int> ids,
                   const Spaces& spaces, Rows& rows) {
  const auto width = spaces.action_size();
  if (actions.size() != ids.size() * width)
    throw std::invalid_argument(
      std::to_string(ids.size()) + " actions of " + std::to_string(width) + " number" +
      (width == 1 ? "" : "s") + " are needed, one for each environment, and " +
      std::to_string(actions.size()) + " number" + (actions.size() == 1 ? "" : "s") +
      " came");
  for (std::size_t i = 0; i < actions.size() && !spaces.discrete(); ++i)
    if (!std::isfinite(actions[i]))
      throw std::invalid_argument(order_errors::action_of(ids[i / width]) + " is " +
                                  detail::shown(actions[i]) + "; it must be finite");
  for (std::size_t i = 0; i < ids.size() && spaces.discrete(); ++i)
    order_errors::check_choices(actions.subspan(i * width, width), ids[i], spaces,
                                rows.mask(static_cast<std::size_t>(ids[i])));
}

} // namespace fiber::rl::vec
