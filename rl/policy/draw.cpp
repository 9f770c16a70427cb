// SPDX-License-Identifier: Apache-2.0
#include "rl/policy/draw.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>

#include "fiber/rl/distributions.hpp"

namespace fiber::rl {
namespace {

// Sets these draws apart from the seeds of episodes.
constexpr std::uint64_t drawn_actions = 0x616374696f6e73; // "actions"

std::size_t outputs_of(const Spaces& spaces) {
  return spaces.discrete() ? spaces.logits() : spaces.action_size();
}

/// Calls f(number of the component, its logits) for each component.
template <class F>
void each_component(const Spaces& spaces, std::span<const float> logits, F f) {
  const auto counts = spaces.choices();
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const auto size = static_cast<std::size_t>(counts[i]);
    f(i, logits.first(size));
    logits = logits.subspan(size);
  }
}

void check_masks(const Spaces& spaces, std::span<const std::uint8_t> masks,
                 std::size_t rows) {
  const auto width = spaces.mask_size();
  if (masks.size() != rows * width)
    throw std::invalid_argument(
      (spaces.masked ? "a policy of masked actions needs masks of "
                     : "a policy whose actions are not masked takes masks of ") +
      std::to_string(width) + " bytes for each observation, " +
      std::to_string(rows * width) + " for " + std::to_string(rows) + ", not " +
      std::to_string(masks.size()));
  for (std::size_t row = 0; row < rows && width > 0; ++row)
    if (const auto component =
          impossible_component(spaces, masks.subspan(row * width, width)))
      throw std::invalid_argument("the mask of row " + std::to_string(row) +
                                  " forbids each choice of component " +
                                  std::to_string(*component) + " of the action");
}

} // namespace

void apply_masks(const Spaces& spaces, std::span<const std::uint8_t> masks,
                 std::span<float> logits) {
  check_masks(spaces, masks, logits.size() / outputs_of(spaces));
  for (std::size_t i = 0; i < masks.size(); ++i)
    if (masks[i] == 0)
      logits[i] = -std::numeric_limits<float>::infinity();
}

double log_probability_of(const Spaces& spaces, std::span<const float> outputs,
                          std::span<const float> log_std, std::span<const float> action) {
  if (!spaces.discrete())
    return gaussian_log_probability(outputs, log_std, action);
  double sum = 0;
  each_component(spaces, outputs, [&](std::size_t i, std::span<const float> logits) {
    sum += categorical_log_probability(logits, static_cast<std::size_t>(action[i]));
  });
  return sum;
}

void draw_actions(const Spaces& spaces, std::span<const float> outputs,
                  std::span<const float> log_std, const SampleKey& key,
                  std::vector<float>& actions, std::vector<float>& log_probabilities) {
  const auto width = outputs_of(spaces), size = spaces.action_size();
  const auto rows = outputs.size() / width;
  if (!key.env_ids.empty() && key.env_ids.size() != rows)
    throw std::invalid_argument(std::to_string(key.env_ids.size()) + " ids for " +
                                std::to_string(rows) + " observations");
  actions.resize(rows * size);
  log_probabilities.resize(rows);
  for (std::size_t row = 0; row < rows; ++row) {
    const auto id =
      key.env_ids.empty() ? row : static_cast<std::uint64_t>(key.env_ids[row]);
    Random random(key.seed, {drawn_actions, key.step, id});
    const auto of_row = outputs.subspan(row * width, width);
    const auto spread =
      log_std.size() > width ? log_std.subspan(row * width, width) : log_std;
    const auto action = std::span(actions).subspan(row * size, size);
    if (spaces.discrete())
      each_component(spaces, of_row, [&](std::size_t i, std::span<const float> logits) {
        action[i] = static_cast<float>(sample_categorical(logits, random));
      });
    else
      sample_gaussian(of_row, spread, random, action);
    log_probabilities[row] =
      static_cast<float>(log_probability_of(spaces, of_row, spread, action));
  }
}

void choose_actions(const Spaces& spaces, std::span<const float> outputs,
                    std::vector<float>& actions) {
  if (!spaces.discrete()) {
    actions.assign(outputs.begin(), outputs.end());
    return;
  }
  const auto width = outputs_of(spaces);
  actions.clear();
  for (std::size_t at = 0; at < outputs.size(); at += width)
    each_component(spaces, outputs.subspan(at, width),
                   [&](std::size_t, std::span<const float> logits) {
                     actions.push_back(static_cast<float>(most_probable(logits)));
                   });
}

} // namespace fiber::rl
