// SPDX-License-Identifier: Apache-2.0
#include "actor_critic.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include <Eigen/Dense>

#include <fiber/rl/advantages.hpp>

namespace actor_critic {
namespace {

using Columns = Eigen::Map<const Eigen::Matrix4Xf>; ///< An observation each.

Columns columns(const std::vector<float>& numbers) {
  return {numbers.data(), 4, static_cast<Eigen::Index>(numbers.size() / 4)};
}

float log_odds(const Policy& policy, const std::vector<float>& seen) {
  return columns(policy).col(0).dot(columns(seen).col(0));
}

float log_probability(float log_odds, bool right) {
  const auto x = right ? log_odds : -log_odds;
  return std::min(x, 0.0F) - std::log1p(std::exp(-std::abs(x)));
}

/// 1, the four numbers of an observation, and their products: a column for each step.
Eigen::MatrixXf features(const Columns& seen) {
  Eigen::MatrixXf all(15, seen.cols());
  all.row(0).setOnes();
  for (int i = 0, row = 1; i < 4; ++i) {
    all.row(row++) = seen.row(i);
    for (int j = 0; j <= i; ++j)
      all.row(row++) = seen.row(i).cwiseProduct(seen.row(j));
  }
  return all;
}

/// What a trajectory says of a model.
struct Judged {
  Eigen::ArrayXf odds;             ///< Of the policy that learns.
  Eigen::MatrixXf features;        ///< Of the states.
  Eigen::VectorXf values, targets; ///< Of the critic: what is and what should be.
  Eigen::VectorXf advantages;      ///< Of the actions.
};

Judged judge(const Model& model, const Trajectory& played) {
  const auto n = played.rewards.size();
  const auto size = static_cast<Eigen::Index>(n);
  const Eigen::Map<const Eigen::VectorXf> critic(model.critic.data(), 15);
  Judged result{.odds = columns(played.seen).transpose() * columns(model.policy),
                .features = features(columns(played.seen)),
                .values = {},
                .targets = Eigen::VectorXf(size),
                .advantages = Eigen::VectorXf(size)};
  result.values = result.features.transpose() * critic;
  const Eigen::VectorXf after = features(columns(played.next)).transpose() * critic;
  std::vector<float> now(n);
  for (std::size_t i = 0; i < n; ++i)
    now[i] =
      log_probability(result.odds[static_cast<Eigen::Index>(i)], played.right[i] > 0);
  fiber::rl::v_trace({.steps = n,
                      .envs = 1,
                      .rewards = played.rewards,
                      .values = {result.values.data(), n},
                      .last_values = {after.data() + n - 1, 1},
                      .final_values = {after.data(), n},
                      .terminated = played.terminated,
                      .truncated = played.truncated},
                     played.log_probabilities, now, {.gamma = 0.99, .lambda = 0.95},
                     {result.targets.data(), n}, {result.advantages.data(), n});
  return result;
}

} // namespace

Player::Player(std::uint64_t seed, std::uint64_t index) : random_(seed, {index}) {
  pole_.reset(random_.next());
}

Trajectory Player::play(const Policy& policy, std::size_t steps) {
  Trajectory played;
  std::vector<float> seen(4);
  while (played.rewards.size() < steps) {
    pole_.observe(seen);
    played.seen.insert(played.seen.end(), seen.begin(), seen.end());
    const auto odds = log_odds(policy, seen);
    const bool right =
      random_.uniform() < static_cast<double>(std::exp(log_probability(odds, true)));
    const auto step = pole_.step(right ? 1 : 0);
    pole_.observe(seen);
    played.next.insert(played.next.end(), seen.begin(), seen.end());
    played.right.push_back(right ? 1 : 0);
    played.log_probabilities.push_back(log_probability(odds, right));
    played.rewards.push_back(step.reward);
    played.terminated.push_back(step.terminated ? 1 : 0);
    played.truncated.push_back(step.truncated ? 1 : 0);
    return_ += step.reward;
    if (step.terminated || step.truncated) {
      played.returns.push_back(std::exchange(return_, 0));
      pole_.reset(random_.next());
    }
  }
  return played;
}

void Model::update(const std::vector<Trajectory>& batch) {
  constexpr float ridge = 0.1F; // So that both systems of equations have a solution.
  Eigen::MatrixXf fisher = ridge * Eigen::MatrixXf::Identity(4, 4);
  Eigen::MatrixXf squares = ridge * Eigen::MatrixXf::Identity(15, 15);
  Eigen::VectorXf slope = Eigen::VectorXf::Zero(4), errors = Eigen::VectorXf::Zero(15);
  float variance = 1e-6F, steps = 0;
  std::vector<double> returns;
  for (const auto& played : batch) {
    const auto judged = judge(*this, played);
    const auto seen = columns(played.seen);
    const Eigen::Map<const Eigen::ArrayXf> right(played.right.data(), seen.cols());
    const Eigen::ArrayXf chance = 1 / (1 + (-judged.odds).exp());
    slope += seen * ((right - chance) * judged.advantages.array()).matrix();
    fisher += seen * (chance * (1 - chance)).matrix().asDiagonal() * seen.transpose();
    errors += judged.features * (judged.targets - judged.values);
    squares += judged.features * judged.features.transpose();
    variance += judged.advantages.squaredNorm();
    steps += static_cast<float>(seen.cols());
    returns.insert(returns.end(), played.returns.begin(), played.returns.end());
  }
  // Along the natural gradient, and half the way to the least squares.
  Eigen::Map<Eigen::VectorXf>(policy.data(), 4) +=
    0.05F / std::sqrt(variance / steps) * fisher.ldlt().solve(slope);
  Eigen::Map<Eigen::VectorXf>(critic.data(), 15) += 0.5F * squares.ldlt().solve(errors);
  ++updates;
  if (!returns.empty())
    mean_return =
      std::reduce(returns.begin(), returns.end()) / static_cast<double>(returns.size());
}

double evaluate(const Policy& policy, std::uint64_t seed, int episodes) {
  fiber::rl::Random random(seed, {1000});
  double total = 0;
  std::vector<float> seen(4);
  for (int i = 0; i < episodes; ++i) {
    fiber::rl::CartPole pole;
    pole.reset(random.next());
    for (fiber::rl::Step step; !step.terminated && !step.truncated;) {
      pole.observe(seen);
      step = pole.step(log_odds(policy, seen) > 0 ? 1 : 0);
      total += step.reward;
    }
  }
  return total / episodes;
}

} // namespace actor_critic
