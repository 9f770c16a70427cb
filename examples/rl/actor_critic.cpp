// SPDX-License-Identifier: Apache-2.0
#include "rl/actor_critic.hpp"

#include <algorithm>
#include <cmath>
#include <span>

#include <Eigen/Core>

namespace rl {
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

Observation look(const es::CartPole& pole) {
  Observation seen{};
  std::ranges::copy(pole.observation(), seen.begin());
  return seen;
}

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

/// All steps of a batch, side by side.
struct Batch {
  Matrix seen, next;
  Vector right;
  std::vector<const Trajectory::Step*> steps;
  std::vector<bool> last; ///< Of its trajectory.

  explicit Batch(const std::vector<Trajectory>& trajectories) {
    for (auto& each : trajectories)
      for (auto& step : each.steps) {
        steps.push_back(&step);
        last.push_back(&step == &each.steps.back());
      }
    auto n = static_cast<Eigen::Index>(steps.size());
    seen.resize(inputs, n);
    next.resize(inputs, n);
    right.resize(n);
    for (Eigen::Index i = 0; i < n; ++i) {
      auto& step = *steps[static_cast<std::size_t>(i)];
      seen.col(i) = Eigen::Map<const Eigen::Vector4f>(step.seen.data());
      next.col(i) = Eigen::Map<const Eigen::Vector4f>(step.next.data());
      right(i) = step.right;
    }
  }
};

} // namespace

Parameters Parameters::initial(std::uint64_t seed) {
  auto network = [&](std::uint64_t which, double out_scale) {
    es::Random random(seed, es::Use::initial_parameters, {which});
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

Player::Player(std::uint64_t seed, es::Use use, std::uint64_t index)
  : random_(seed, use, {index}) {
  pole_.reset(random_);
}

Trajectory Player::play(const Parameters& parameters, std::size_t steps) {
  Trajectory trajectory;
  trajectory.steps.reserve(steps);
  for (std::size_t i = 0; i < steps; ++i) {
    Trajectory::Step step;
    step.seen = look(pole_);
    step.right = random_.uniform() < sigmoid(logit(parameters.policy, step.seen)) ? 1 : 0;
    const float action = step.right == 1 ? 1 : -1;
    auto got = pole_.step({&action, 1});
    step.reward = static_cast<float>(got.reward);
    step.terminated = got.terminated ? 1 : 0;
    step.truncated = got.truncated ? 1 : 0;
    step.next = look(pole_);
    return_ += step.reward;
    trajectory.steps.push_back(step);
    if (got.terminated || got.truncated) {
      trajectory.returns.push_back(return_);
      return_ = 0;
      pole_.reset(random_);
    }
  }
  return trajectory;
}

double evaluate(const Parameters& parameters, std::uint64_t seed, std::uint64_t episode) {
  es::Random random(seed, es::Use::evaluation_episode, {episode});
  es::CartPole pole;
  pole.reset(random);
  for (double total = 0;;) {
    const float action = logit(parameters.policy, look(pole));
    auto got = pole.step({&action, 1});
    total += got.reward;
    if (got.terminated || got.truncated)
      return total;
  }
}

Learner::Learner(std::uint64_t seed)
  : parameters(Parameters::initial(seed)), moments(4 * Parameters::of_one) {}

void Learner::update(const std::vector<Trajectory>& trajectories,
                     const LearnerOptions& options, double left) {
  Batch batch(trajectories);
  auto n = batch.seen.cols();
  Reading critic(parameters.critic.data()), policy(parameters.policy.data());
  auto critic_hidden = hidden_of(critic, batch.seen);
  auto values = output_of(critic, critic_hidden);
  auto next_values = output_of(critic, hidden_of(critic, batch.next));

  // Generalised advantage estimation, from the last step to the first.
  Vector advantages(n);
  auto discount = static_cast<float>(options.discount);
  float after = 0;
  for (auto i = n - 1; i >= 0; --i) {
    auto& step = *batch.steps[static_cast<std::size_t>(i)];
    auto ends = step.terminated == 1 || step.truncated == 1 ||
                batch.last[static_cast<std::size_t>(i)];
    auto target = (1 - discount) * step.reward +
                  (step.terminated == 1 ? 0 : discount * next_values(i)) - values(i);
    after = target + (ends ? 0 : discount * static_cast<float>(options.lambda) * after);
    advantages(i) = after;
  }
  const Vector targets = values + advantages;
  auto mean = advantages.mean();
  auto deviation = std::sqrt((advantages.array() - mean).square().mean()) + 1e-8F;
  advantages = (advantages.array() - mean) / deviation;

  auto policy_hidden = hidden_of(policy, batch.seen);
  auto logits = output_of(policy, policy_hidden);
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

} // namespace rl
