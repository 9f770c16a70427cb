// SPDX-License-Identifier: Apache-2.0
#include "fiber/rl/saved_policy.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "fiber/rl/checkpoint_file.hpp"
#include "fiber/rl/distributions.hpp"
#include "fiber/rl/environments.hpp"

namespace fiber::rl {
namespace {
namespace policy_file {

constexpr const char* kind = "fiber-rl-policy";
constexpr const char* physics_key = "physics";

std::string wrong_count(const SavedPolicy& policy) {
  const auto expected = policy.spec.parameter_count();
  if (policy.parameters.size() == expected)
    return {};
  return "a policy of " + policy.spec.describe() + " has " + std::to_string(expected) +
         " parameters, not " + std::to_string(policy.parameters.size());
}

} // namespace policy_file
} // namespace

void save_policy(const std::filesystem::path& path, const SavedPolicy& policy) {
  if (const auto wrong = policy_file::wrong_count(policy); !wrong.empty())
    throw std::invalid_argument(wrong);
  FileLabel label{.kind = policy_file::kind,
                  .settings = {{"environment", policy.environment},
                               {"network", policy.spec.describe()}}};
  if (auto physics = physics_engine(policy.environment); !physics.empty())
    label.settings.emplace(policy_file::physics_key, std::move(physics));
  save_state(path, label, policy);
}

std::string physics_of_policy(const std::filesystem::path& path) {
  return detail::setting_of(path, policy_file::physics_key);
}

SavedPolicy detail::policy_in(const std::filesystem::path& path,
                              std::string_view content) {
  auto policy = state_in<SavedPolicy>(path, content);
  std::string wrong;
  try {
    wrong = policy_file::wrong_count(policy);
  } catch (const std::invalid_argument& error) {
    wrong = error.what();
  }
  if (!wrong.empty())
    throw std::runtime_error(path.string() + " holds no policy: " + wrong);
  return policy;
}

SavedPolicy load_policy(const std::filesystem::path& path) {
  const auto content = detail::load_labelled(path, {.kind = policy_file::kind});
  if (!content)
    throw std::runtime_error("there is no file " + path.string());
  return detail::policy_in(path, *content);
}

ActingPolicy::ActingPolicy(SavedPolicy saved)
  : saved_(std::move(saved)), policy_(saved_.spec, saved_.parameters) {}

std::span<const float> ActingPolicy::act(std::span<const float> observations,
                                         std::span<const std::uint8_t> masks) {
  observations_.assign(observations.begin(), observations.end());
  saved_.observations.apply(observations_);
  const auto size = saved_.spec.memory_size();
  const auto rows = observations.size() / saved_.spec.spaces.observation_size();
  if (memory_.empty())
    memory_.resize(rows * size);
  if (memory_.size() != rows * size)
    throw std::invalid_argument("a recurrent policy gets " + std::to_string(rows) +
                                " observations after " +
                                std::to_string(memory_.size() / size) +
                                ": call begin_episode() before their number changes");
  const auto best = policy_.best(observations_, {.masks = masks, .memory = memory_});
  actions_.assign(best.begin(), best.end());
  limit_actions(saved_.spec.spaces, actions_);
  return actions_;
}

void ActingPolicy::begin_episode() {
  memory_.clear();
}

void ActingPolicy::begin_episode(std::size_t row) {
  const auto size = saved_.spec.memory_size();
  if (size == 0)
    return;
  if (row >= memory_.size() / size)
    throw std::out_of_range("no row " + std::to_string(row) + "; there are " +
                            std::to_string(memory_.size() / size));
  std::ranges::fill(std::span(memory_).subspan(row * size, size), 0.0F);
}

} // namespace fiber::rl
