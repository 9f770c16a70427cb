// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <vector>

#include "fiber/rl/distributions.hpp"
#include "tests/rl/export/policies.hpp"

namespace fiber::rl::exporting_test {

/// Recurrent policies, each with the observations of an episode.
inline std::vector<Sample> recurrent_samples() {
  std::vector<Sample> all;
  const auto add = [&](const char* name, PolicySpec spec) {
    spec.lstm = 6;
    Sample sample{.name = name,
                  .policy = {.environment = "somewhere", .spec = std::move(spec)}};
    fill_parameters(sample.policy, 7);
    const auto size = sample.policy.spec.spaces.observation_size();
    for (std::size_t i = 0; i < 40 * size; ++i)
      sample.rows.push_back(static_cast<float>(i * i % 17) / 8 - 1);
    RunningMoments moments(size);
    moments.add(sample.rows);
    sample.policy.observations = FrozenNormaliser(moments, 1.5, 1e-8);
    sample.masks = random_masks(sample.policy.spec.spaces, 40);
    all.push_back(std::move(sample));
  };
  add("discrete", {.spaces = {.observation_shape = {5}, .actions = 4}, .hidden = {8, 7}});
  add("linear", {.spaces = {.observation_shape = {3},
                            .action_low = {-0.1F, -1},
                            .action_high = {0.1F, 1}},
                 .hidden = {}});
  add("masked",
      {.spaces = {.observation_shape = {5}, .action_counts = {3, 2, 4}, .masked = true},
       .hidden = {8}});
  return all;
}

/// What a policy gives for the rows of an episode, one after another.
struct EpisodeAnswers {
  Answers answers;
  std::vector<float> values = {};
};
inline EpisodeAnswers episode_of(const Sample& sample) {
  auto rows = sample.rows;
  sample.policy.observations.apply(rows);
  const auto& spec = sample.policy.spec;
  Policy runner(spec, sample.policy.parameters);
  std::vector<float> memory(spec.memory_size());
  const auto size = spec.spaces.observation_size();
  const auto mask_size = spec.spaces.mask_size();
  EpisodeAnswers all;
  for (std::size_t step = 0; step < rows.size() / size; ++step) {
    const auto row = std::span(rows).subspan(step * size, size);
    const auto mask = std::span(sample.masks).subspan(step * mask_size, mask_size);
    const auto outputs = runner.evaluate(row, {.masks = mask, .memory = memory});
    all.answers.outputs.insert(all.answers.outputs.end(), outputs.policy.begin(),
                               outputs.policy.end());
    all.values.push_back(outputs.values[0]);
    const auto best = runner.best(row, {.masks = mask, .memory = memory});
    all.answers.actions.insert(all.answers.actions.end(), best.begin(), best.end());
  }
  limit_actions(spec.spaces, all.answers.actions);
  return all;
}

} // namespace fiber::rl::exporting_test
