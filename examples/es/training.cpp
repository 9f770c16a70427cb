// SPDX-License-Identifier: Apache-2.0
#include "es/training.hpp"

#include <algorithm>
#include <numeric>
#include <sstream>
#include <stdexcept>

namespace es {
namespace {

PolicyShape shape_for(const TrainingOptions& options) {
  const auto environment = make_environment(options.environment);
  const auto observations = environment->observation_size();
  return {.observations = observations,
          .hidden = observations > 0 ? options.hidden : 0,
          .actions = environment->action_size()};
}

double mean(std::span<const double> values) {
  const auto total = std::accumulate(values.begin(), values.end(), 0.0);
  return total / static_cast<double>(values.size());
}

} // namespace

std::string TrainingOptions::fingerprint() const {
  std::ostringstream line;
  line.precision(17);
  line << "environment=" << environment << " seed=" << seed << " hidden=" << hidden
       << " episodes=" << episodes << " table=" << table_size
       << " evaluations=" << evaluations << " directions=" << optimizer.directions
       << " sigma=" << optimizer.sigma << " rate=" << optimizer.learning_rate
       << " decay=" << optimizer.weight_decay << " adam=" << optimizer.beta1 << ','
       << optimizer.beta2 << ',' << optimizer.epsilon;
  return line.str();
}

TrainingOptions training_options(const std::string& environment) {
  TrainingOptions options;
  options.environment = environment;
  options.table_size = std::size_t{1} << 22;
  if (environment == "cartpole") {
    // Small steps and thorough judgement: the run lasts long enough to be watched, and
    // its workers to be killed. learning_rate = 0.01 and 16 episodes solve it in seconds.
    options.iterations = 400;
    options.episodes = 128;
    options.optimizer.learning_rate = 0.001;
  } else if (environment == "pendulum") {
    options.iterations = 200;
    options.episodes = 8;
    options.optimizer.learning_rate = 0.05;
  } else {
    make_environment(environment); // Throws on an unknown name.
    options.iterations = 200;
    options.episodes = 1;
    options.evaluations = 1;
    options.optimizer.directions = 20;
    options.optimizer.learning_rate = 0.1;
  }
  return options;
}

Training::Training(TrainingOptions options, std::span<const float> noise)
  : Training(options, noise, [&] {
      auto parameters = initial_parameters(shape_for(options), options.seed);
      TrainingState state;
      state.optimizer.moment1.resize(parameters.size());
      state.optimizer.moment2.resize(parameters.size());
      state.optimizer.parameters = std::move(parameters);
      return state;
    }()) {}

Training::Training(TrainingOptions options, std::span<const float> noise,
                   TrainingState state)
  : options_(std::move(options)), shape_(shape_for(options_)),
    mark_(make_environment(options_.environment)->solved_at()), noise_(noise),
    state_(std::move(state)) {
  if (options_.episodes == 0 || options_.evaluations == 0)
    throw std::invalid_argument("a candidate must be judged by one episode at least");
  if (state_.optimizer.parameters.size() != shape_.parameter_count())
    throw std::invalid_argument("the saved state belongs to another policy");
}

bool Training::finished() const {
  return state_.solved || state_.optimizer.iteration >= options_.iterations;
}

Generation Training::generation() const {
  return {.environment = options_.environment,
          .shape = shape_,
          .seed = options_.seed,
          .iteration = state_.optimizer.iteration,
          .episodes = options_.episodes,
          .sigma = options_.optimizer.sigma,
          .parameters = state_.optimizer.parameters};
}

CurvePoint& Training::step(const Evaluator& evaluator) {
  Optimizer optimizer(state_.optimizer, noise_, options_.seed, options_.optimizer);
  const auto offsets = optimizer.ask();
  const auto returns = evaluator.directions(generation(), offsets);
  optimizer.tell(returns);
  state_.optimizer = optimizer.state();

  const auto moved = generation();
  const auto count = options_.evaluations;
  CurvePoint point;
  point.iteration = state_.optimizer.iteration;
  point.population_best = returns.front().plus;
  for (const auto& pair : returns) {
    point.population_mean += (pair.plus + pair.minus) / 2;
    point.population_best = std::max({point.population_best, pair.plus, pair.minus});
  }
  point.population_mean /= static_cast<double>(returns.size());
  point.policy_mean = mean(evaluator.policy(moved, Use::evaluation_episode, count));
  point.episodes = 2 * options_.episodes * returns.size() + count;
  if (mark_ && point.policy_mean >= *mark_) {
    const auto again = mean(evaluator.policy(moved, Use::confirmation_episode, count));
    state_.solved = again >= *mark_;
    state_.confirmed_mean = again;
    point.episodes += count;
  }
  if (!state_.curve.empty())
    point.episodes += state_.curve.back().episodes;
  return state_.curve.emplace_back(point);
}

Evaluator serial_evaluator(std::span<const float> noise) {
  return {
    .directions =
      [noise](const Generation& generation, const std::vector<std::uint64_t>& offsets) {
        std::vector<MirroredReturns> returns;
        for (auto offset : offsets)
          returns.push_back(evaluate_direction(generation, noise, offset));
        return returns;
      },
    .policy =
      [](const Generation& generation, Use use, std::uint64_t count) {
        std::vector<double> returns;
        for (std::uint64_t episode = 0; episode < count; ++episode)
          returns.push_back(evaluate_policy(generation, use, episode));
        return returns;
      }};
}

} // namespace es
