// SPDX-License-Identifier: Apache-2.0
#include "rl/policy/draw.hpp"

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "fiber/rl/distributions.hpp"

namespace fiber::rl {
namespace {

// Sets these draws apart from the seeds of episodes.
constexpr std::uint64_t drawn_actions = 0x616374696f6e73; // "actions"

std::size_t outputs_of(const Spaces& spaces) {
  return spaces.discrete() ? static_cast<std::size_t>(spaces.actions)
                           : spaces.action_size();
}

} // namespace

void draw_actions(const Spaces& spaces, std::span<const float> outputs,
                  std::span<const float> log_std, const SampleKey& key,
                  std::vector<float>& actions, std::vector<float>& log_probabilities) {
  const auto width = outputs_of(spaces);
  const auto rows = outputs.size() / width;
  if (!key.env_ids.empty() && key.env_ids.size() != rows)
    throw std::invalid_argument(std::to_string(key.env_ids.size()) + " ids for " +
                                std::to_string(rows) + " observations");
  actions.resize(rows * spaces.action_size());
  log_probabilities.resize(rows);
  for (std::size_t row = 0; row < rows; ++row) {
    const auto id =
      key.env_ids.empty() ? row : static_cast<std::uint64_t>(key.env_ids[row]);
    Random random(key.seed, {drawn_actions, key.step, id});
    const auto of_row = outputs.subspan(row * width, width);
    double log_probability = 0;
    if (spaces.discrete()) {
      const auto action = sample_categorical(of_row, random);
      actions[row] = static_cast<float>(action);
      log_probability = categorical_log_probability(of_row, action);
    } else {
      const auto spread =
        log_std.size() > width ? log_std.subspan(row * width, width) : log_std;
      const auto action = std::span(actions).subspan(row * width, width);
      sample_gaussian(of_row, spread, random, action);
      log_probability = gaussian_log_probability(of_row, spread, action);
    }
    log_probabilities[row] = static_cast<float>(log_probability);
  }
}

void choose_actions(const Spaces& spaces, std::span<const float> outputs,
                    std::vector<float>& actions) {
  if (!spaces.discrete()) {
    actions.assign(outputs.begin(), outputs.end());
    return;
  }
  const auto width = outputs_of(spaces);
  actions.resize(outputs.size() / width);
  for (std::size_t row = 0; row < actions.size(); ++row)
    actions[row] = static_cast<float>(most_probable(outputs.subspan(row * width, width)));
}

} // namespace fiber::rl
