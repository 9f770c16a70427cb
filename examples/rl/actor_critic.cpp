// SPDX-License-Identifier: Apache-2.0
#include "actor_critic.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <stdexcept>
#include <utility>

#include <Eigen/Core>

#include <fiber/rl/advantages.hpp>

namespace actor_critic {
namespace {

constexpr auto hidden = static_cast<Eigen::Index>(Parameters::hidden);
constexpr Eigen::Index inputs = 4;

using Matrix = Eigen::MatrixXf; ///< A column for each sample.
using Vector = Eigen::VectorXf;

/// A network's parameters as matrices, wherever they lie.
template <class Scalar>
struct Network {
  using Plain = std::remove_const_t<Scalar>;
  template <class Type>
  using Map = Eigen::Map<std::conditional_t<std::is_const_v<Scalar>, const Type, Type>>;

  explicit Network(Scalar* at)
    : in(at, hidden, inputs), in_bias(at + hidden * inputs, hidden),
      out(at + hidden * (inputs + 1), hidden), out_bias(at[hidden * (inputs + 2)]) {}

  Map<Matrix> in;
  Map<Vector> in_bias, out;
  Scalar& out_bias;
};
using Reading = Network<const float>;
using Writing = Network<float>;

Matrix hidden_of(const Reading& network, const Matrix& seen) {
  return ((network.in * seen).colwise() + network.in_bias).array().tanh();
}
Vector output_of(const Reading& network, const Matrix& hidden_layer) {
  return ((network.out.transpose() * hidden_layer).array() + network.out_bias)
    .transpose();
}

/// The gradient of the parameters for one of the outputs.
std::vector<float> gradient_of(const Reading& network, const Matrix& seen,
                               const Matrix& hidden_layer, const Vector& slope) {
  std::vector<float> gradient(Parameters::of_one);
  Writing to(gradient.data());
  Matrix back =
    (network.out * slope.transpose()).array() * (1 - hidden_layer.array().square());
  to.in = back * seen.transpose();
  to.in_bias = back.rowwise().sum();
  to.out = hidden_layer * slope;
  to.out_bias = slope.sum();
  return gradient;
}

float logit(const std::vector<float>& policy, const Observation& seen) {
  Reading network(policy.data());
  Eigen::Map<const Eigen::Vector4f> input(seen.data());
  return network.out.dot(
           Vector((network.in * input + network.in_bias).array().tanh().matrix())) +
         network.out_bias;
}

float sigmoid(float x) {
  return 1 / (1 + std::exp(-x));
}

/// The logarithm of the probability of a push to the right, or to the left.
float log_probability(float logit, bool right) {
  const float x = right ? logit : -logit;
  return std::min(x, 0.0F) - std::log1p(std::exp(-std::abs(x)));
}

Observation look(const fiber::rl::CartPole& pole) {
  Observation seen{};
  pole.observe(seen);
  return seen;
}

/// What a stream of random numbers is for.
enum Stream : std::uint64_t { initial_weights, playing, evaluation };

/// Kingma and Ba 2015, arXiv 1412.6980, algorithm 1, with a bound for the gradient.
void adam(std::span<float> parameters, std::vector<float> gradient,
          std::span<float> first, std::span<float> second, double rate,
          std::uint64_t step) {
  constexpr float beta1 = 0.9F, beta2 = 0.999F, epsilon = 1e-8F, most = 0.5F;
  auto norm =
    Eigen::Map<Vector>(gradient.data(), static_cast<Eigen::Index>(gradient.size()))
      .norm();
  auto scale = norm > most ? most / norm : 1.0F;
  auto t = static_cast<float>(step);
  auto corrected = static_cast<float>(rate) * std::sqrt(1 - std::pow(beta2, t)) /
                   (1 - std::pow(beta1, t));
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    auto g = scale * gradient[i];
    first[i] = beta1 * first[i] + (1 - beta1) * g;
    second[i] = beta2 * second[i] + (1 - beta2) * g * g;
    parameters[i] -= corrected * first[i] / (std::sqrt(second[i]) + epsilon);
  }
}

/// All steps of a batch, side by side: step t of trajectory n is column t * envs + n.
struct Batch {
  Matrix seen, next;
  Vector right;
  std::size_t length = 0, envs = 0;
  std::vector<double> rewards;
  std::vector<float> behaviour;
  std::vector<std::uint8_t> terminated, truncated;

  Batch(const std::vector<Trajectory>& trajectories, double reward_scale)
    : length(trajectories.empty() ? 0 : trajectories.front().steps.size()),
      envs(trajectories.size()) {
    const auto n = static_cast<Eigen::Index>(length * envs);
    seen.resize(inputs, n);
    next.resize(inputs, n);
    right.resize(n);
    for (std::size_t t = 0; t < length; ++t)
      for (auto& each : trajectories) {
        if (each.steps.size() != length)
          throw std::invalid_argument("trajectories of different lengths");
        auto& step = each.steps[t];
        const auto column = static_cast<Eigen::Index>(rewards.size());
        seen.col(column) = Eigen::Map<const Eigen::Vector4f>(step.seen.data());
        next.col(column) = Eigen::Map<const Eigen::Vector4f>(step.next.data());
        right(column) = step.right;
        rewards.push_back(reward_scale * static_cast<double>(step.reward));
        behaviour.push_back(step.log_probability);
        terminated.push_back(step.terminated);
        truncated.push_back(step.truncated);
      }
  }
};

/// Targets of the critic, and advantages.
std::pair<Vector, Vector> judged(const Batch& batch, const Vector& values,
                                 const Vector& next_values, const Vector& logits,
                                 const LearnerOptions& options) {
  const auto n = static_cast<std::size_t>(values.size());
  std::vector<float> target(n);
  for (std::size_t i = 0; i < n; ++i)
    target[i] = log_probability(logits(static_cast<Eigen::Index>(i)),
                                batch.right(static_cast<Eigen::Index>(i)) > 0);
  std::pair<Vector, Vector> result{Vector(values.size()), Vector(values.size())};
  const std::span<const float> after(next_values.data(), n);
  fiber::rl::v_trace({.steps = batch.length,
                      .envs = batch.envs,
                      .rewards = batch.rewards,
                      .values = {values.data(), n},
                      .last_values = after.last(batch.envs),
                      .final_values = after,
                      .terminated = batch.terminated,
                      .truncated = batch.truncated},
                     batch.behaviour, target,
                     {.gamma = options.discount, .lambda = options.lambda},
                     {result.first.data(), n}, {result.second.data(), n});
  return result;
}

} // namespace

Parameters Parameters::initial(std::uint64_t seed) {
  auto network = [&](std::uint64_t which, double out_scale) {
    fiber::rl::Random random(seed, {initial_weights, which});
    std::vector<float> parameters(of_one);
    Writing to(parameters.data());
    for (auto& weight : to.in.reshaped())
      weight = static_cast<float>(random.normal() / std::sqrt(inputs));
    for (auto& weight : to.out)
      weight = static_cast<float>(out_scale * random.normal() / std::sqrt(hidden));
    return parameters;
  };
  return {network(0, 0.01), network(1, 1)};
}

Player::Player(std::uint64_t seed, std::uint64_t index)
  : random_(seed, {playing, index}) {
  pole_.reset(random_.next());
}

Trajectory Player::play(const std::vector<float>& policy, std::size_t steps) {
  Trajectory trajectory;
  trajectory.steps.reserve(steps);
  for (std::size_t i = 0; i < steps; ++i) {
    Trajectory::Step step;
    step.seen = look(pole_);
    const auto x = logit(policy, step.seen);
    const bool right = random_.uniform() < static_cast<double>(sigmoid(x));
    step.right = right ? 1 : 0;
    step.log_probability = log_probability(x, right);
    auto got = pole_.step(step.right);
    step.reward = static_cast<float>(got.reward);
    step.terminated = got.terminated ? 1 : 0;
    step.truncated = got.truncated ? 1 : 0;
    step.next = look(pole_);
    return_ += step.reward;
    trajectory.steps.push_back(step);
    if (got.terminated || got.truncated) {
      trajectory.returns.push_back(return_);
      return_ = 0;
      pole_.reset(random_.next());
    }
  }
  return trajectory;
}

double evaluate(const Parameters& parameters, std::uint64_t seed, std::uint64_t episode) {
  fiber::rl::CartPole pole;
  pole.reset(fiber::rl::Random(seed, {evaluation, episode}).next());
  for (double total = 0;;) {
    auto got = pole.step(logit(parameters.policy, look(pole)) > 0 ? 1 : 0);
    total += got.reward;
    if (got.terminated || got.truncated)
      return total;
  }
}

Learner::Learner(std::uint64_t seed)
  : parameters(Parameters::initial(seed)), moments(4 * Parameters::of_one) {}

void Learner::update(const std::vector<Trajectory>& trajectories,
                     const LearnerOptions& options, double left) {
  // The rewards are scaled so that a value is 1 if the pole stays up.
  const Batch batch(trajectories, 1 - options.discount);
  auto n = batch.seen.cols();
  Reading critic(parameters.critic.data()), policy(parameters.policy.data());
  auto critic_hidden = hidden_of(critic, batch.seen);
  auto values = output_of(critic, critic_hidden);
  auto next_values = output_of(critic, hidden_of(critic, batch.next));
  auto policy_hidden = hidden_of(policy, batch.seen);
  auto logits = output_of(policy, policy_hidden);
  auto [targets, advantages] = judged(batch, values, next_values, logits, options);
  auto mean = advantages.mean();
  auto deviation = std::sqrt((advantages.array() - mean).square().mean()) + 1e-8F;
  advantages = (advantages.array() - mean) / deviation;

  Vector chance = logits.unaryExpr([](float x) { return sigmoid(x); });
  // d/dlogit of -log pi(a) A - entropy: the entropy of p is -p log p - (1-p) log(1-p),
  // whose slope is -p (1-p) logit.
  auto weight = static_cast<float>(options.entropy);
  Vector slope = (chance - batch.right).array() * advantages.array() +
                 weight * chance.array() * (1 - chance.array()) * logits.array();
  auto samples = static_cast<float>(n);
  auto policy_gradient = gradient_of(policy, batch.seen, policy_hidden, slope / samples);

  ++updates;
  std::span<float> all(moments);
  auto part = [&](std::size_t which) {
    return all.subspan(which * Parameters::of_one, Parameters::of_one);
  };
  adam(parameters.policy, std::move(policy_gradient), part(0), part(1),
       options.rate * left, updates);
  for (std::uint64_t i = 0; i < options.critic_steps; ++i) {
    critic_hidden = hidden_of(critic, batch.seen);
    Vector errors = output_of(critic, critic_hidden) - targets;
    adam(parameters.critic,
         gradient_of(critic, batch.seen, critic_hidden, errors / samples), part(2),
         part(3), options.critic_rate, (updates - 1) * options.critic_steps + i + 1);
  }
}

} // namespace actor_critic
