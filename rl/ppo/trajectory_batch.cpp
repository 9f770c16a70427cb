// SPDX-License-Identifier: Apache-2.0
// The numbers behind "detail" are those of docs/rl/ppo-checklist.md.
#include "rl/ppo/trajectory_batch.hpp"

#include <numeric>
#include <stdexcept>
#include <string>

#include "fiber/rl/advantages.hpp"
#include "rl/policy/draw.hpp"

namespace fiber::rl::ppo {
namespace {

template <class T>
void append(std::vector<T>& to, const std::vector<T>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

template <class T>
std::span<const T> part_of(const std::vector<T>& all, std::size_t begin,
                           std::size_t size) {
  return std::span<const T>(all).subspan(begin, size);
}

} // namespace

TrajectoryBatch::TrajectoryBatch(const PpoOptions& settings, const PolicySpec& spec)
  : settings_(settings), spaces_(spec.spaces),
    observation_normaliser_(spaces_.observation_size()),
    reward_normaliser_(settings.envs, settings.gamma) {}

void TrajectoryBatch::clear() {
  parts_.clear();
  for (auto* each : {&observations_, &last_observations_, &final_observations_, &actions_,
                     &behaviour_})
    each->clear();
  rewards_.clear();
  returns_.clear();
  terminated_.clear();
  truncated_.clear();
  valid_.clear();
  masks_.clear();
}

void TrajectoryBatch::check(const Trajectory& trajectory) const {
  auto n = trajectory.rows(), size = spaces_.observation_size();
  std::size_t cut_off = 0;
  auto fits = trajectory.envs > 0 && n % trajectory.envs == 0 &&
              trajectory.first_env + trajectory.envs <= settings_.envs &&
              trajectory.begins.size() == trajectory.envs &&
              trajectory.terminated.size() == n && trajectory.truncated.size() == n &&
              trajectory.valid.size() == n;
  for (std::size_t i = 0; fits && i < n; ++i)
    cut_off += trajectory.cut_off(i) ? 1 : 0;
  if (!fits || trajectory.observations.size() != n * size ||
      trajectory.actions.size() != n * spaces_.action_size() ||
      trajectory.masks.size() != n * spaces_.mask_size() ||
      trajectory.log_probabilities.size() != n ||
      trajectory.last_observations.size() != trajectory.envs * size ||
      trajectory.final_observations.size() != cut_off * size)
    throw std::invalid_argument("the trajectory of environment " +
                                std::to_string(trajectory.first_env) +
                                " has rows of other sizes than the environments");
}

void TrajectoryBatch::add(const Trajectory& trajectory) {
  check(trajectory);
  parts_.push_back({rows(), trajectory.rows(),
                    last_observations_.size() / spaces_.observation_size(),
                    trajectory.envs});
  if (settings_.normalise_observations) // Details 28 and 29.
    observation_normaliser_.update(trajectory.observations, trajectory.valid);
  append(observations_, trajectory.observations);
  append(last_observations_, trajectory.last_observations);
  append(final_observations_, trajectory.final_observations);
  append(actions_, trajectory.actions);
  append(behaviour_, trajectory.log_probabilities);
  append(terminated_, trajectory.terminated);
  append(truncated_, trajectory.truncated);
  append(valid_, trajectory.valid);
  append(masks_, trajectory.masks);
  append(returns_, trajectory.returns);
  failures_.add(trajectory.failures);
  add_rewards(trajectory);
}

void TrajectoryBatch::add_rewards(const Trajectory& trajectory) {
  auto envs = trajectory.envs;
  auto begin = rewards_.size();
  append(rewards_, trajectory.rewards);
  auto rewards = std::span(rewards_).subspan(begin);
  if (settings_.normalise_rewards) { // Details 30 and 31.
    std::vector<int> ids(envs);
    std::iota(ids.begin(), ids.end(), static_cast<int>(trajectory.first_env));
    const std::uint8_t no = 0;
    double none = 0;
    for (std::size_t i = 0; i < envs; ++i)
      if (trajectory.begins[i] == 1) // A row that is not valid ends a lost episode.
        reward_normaliser_.apply({&none, 1}, {&no, 1}, {&no, 1}, {&no, 1}, {&ids[i], 1},
                                 {&none, 1});
    for (std::size_t at = 0; at < trajectory.rows(); at += envs)
      reward_normaliser_.apply(
        rewards.subspan(at, envs), part_of(trajectory.terminated, at, envs),
        part_of(trajectory.truncated, at, envs), part_of(trajectory.valid, at, envs), ids,
        rewards.subspan(at, envs));
  }
  if (settings_.sign_rewards) // Detail 19.
    for (auto& reward : rewards)
      reward = reward > 0 ? 1 : reward < 0 ? -1 : 0;
}

Samples TrajectoryBatch::samples(const Learner& learner) {
  auto infer = [&](std::vector<float>& observations) {
    return observations.empty() ? Learner::Outputs() : learner.infer(observations);
  };
  auto normaliser = this->observations();
  normaliser.apply(observations_);
  normaliser.apply(last_observations_);
  normaliser.apply(final_observations_);
  auto outputs = infer(observations_);
  apply_masks(spaces_, masks_, outputs.policy);
  log_probabilities_now(outputs.policy, outputs.log_std);
  values_ = std::move(outputs.values);
  auto last_values = infer(last_observations_).values;
  auto ends = infer(final_observations_).values;
  std::vector<float> final_values(rows());
  for (std::size_t i = 0, end = 0; i < rows(); ++i)
    if (valid_[i] == 1 && truncated_[i] == 1 && terminated_[i] == 0)
      final_values[i] = ends[end++];
  advantages_.resize(rows());
  targets_.resize(rows());
  for (auto& part : parts_)
    estimate(part, last_values, final_values);
  const auto kept = keep_valid_rows(
    valid_, {&observations_, &actions_, &now_, &values_, &advantages_, &targets_}, masks_,
    failures_);
  const auto first = [&](const auto& numbers) {
    return std::span(numbers).first(numbers.size() / rows() * kept);
  };
  return {first(observations_), first(actions_), first(now_),  first(values_),
          first(advantages_),   first(targets_), first(masks_)};
}

void TrajectoryBatch::log_probabilities_now(std::span<const float> outputs,
                                            std::span<const float> log_std) {
  auto size = spaces_.action_size(), width = outputs.size() / rows();
  now_.resize(rows());
  for (std::size_t i = 0; i < rows(); ++i) {
    auto output = outputs.subspan(i * width, width);
    auto action = part_of(actions_, i * size, size);
    now_[i] = static_cast<float>(log_probability_of(spaces_, output, log_std, action));
  }
}

void TrajectoryBatch::estimate(const Part& part, std::span<const float> last_values,
                               std::span<const float> final_values) {
  auto of = [&](const auto& all) { return part_of(all, part.row, part.rows); };
  Rollout rollout;
  rollout.steps = part.rows / part.envs;
  rollout.envs = part.envs;
  rollout.rewards = of(rewards_);
  rollout.values = of(values_);
  rollout.last_values = last_values.subspan(part.last, part.envs);
  rollout.final_values = final_values.subspan(part.row, part.rows);
  rollout.terminated = of(terminated_);
  rollout.truncated = of(truncated_);
  rollout.valid = of(valid_);
  VTraceOptions options;
  options.gamma = settings_.gamma;
  options.lambda = settings_.lambda;
  v_trace(rollout, of(behaviour_), of(now_), options,
          std::span(targets_).subspan(part.row, part.rows),
          std::span(advantages_).subspan(part.row, part.rows));
}

FrozenNormaliser TrajectoryBatch::observations() const {
  return settings_.normalise_observations ? observation_normaliser_.frozen()
                                          : FrozenNormaliser();
}

void TrajectoryBatch::go_on_from(const State& state) {
  observation_normaliser_ = state.observations;
  reward_normaliser_ = state.rewards;
}

} // namespace fiber::rl::ppo
