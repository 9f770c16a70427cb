// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <boost/serialization/string.hpp>
#include <fiber/rl/environments.hpp>
#include <fiber/rl/evolution.hpp>
#include <fiber/rl/evolution_evaluation.hpp>
#include <fiber/rl/population.hpp>
#include <fiber/rl/random.hpp>
#include <fiber/rl/saved_policy.hpp>

// What populations train: see fiber::rl::Population.

namespace pbt {

/// The toy of Jaderberg et al. 2017, section 4.1: the score is
/// 1.2 - theta0^2 - theta1^2, but a member climbs 1.2 - h0 theta0^2 - h1 theta1^2, where
/// h0 and h1 are its hyper-parameters. A round is one step of gradient ascent.
struct Toy {
  struct State {
    double theta0 = 0.9, theta1 = 0.9;

    template <class Archive>
    void serialize(Archive& archive, unsigned) {
      archive& theta0& theta1;
    }
  };
  static double score(const State& state) {
    return 1.2 - state.theta0 * state.theta0 - state.theta1 * state.theta1;
  }

  State start(std::uint64_t) const { return {}; }
  double train(State& state, const fiber::rl::Hyperparameters& h, std::uint64_t,
               std::uint64_t) const {
    state.theta0 -= rate * 2 * h[0] * state.theta0;
    state.theta1 -= rate * 2 * h[1] * state.theta1;
    return score(state);
  }

  double rate = 0.01;
};

/// Evolution strategies on an environment. The hyper-parameters are the learning rate and
/// sigma. A round is some iterations, then an evaluation in fresh episodes.
struct Evolved {
  using State = fiber::rl::EvolutionState;

  std::string environment;
  std::uint64_t seed = 1;
  std::vector<std::size_t> hidden = {16};
  std::size_t directions = 8;
  std::size_t iterations = 4;   ///< In a round.
  std::size_t evaluations = 20; ///< Episodes that give the score.

  template <class Archive>
  void serialize(Archive& archive, unsigned) {
    archive& environment& seed& hidden& directions& iterations& evaluations;
  }

  fiber::rl::PolicySpec spec() const {
    return fiber::rl::evolved_policy(fiber::rl::make_environment(environment)->spaces(),
                                     hidden);
  }
  State start(std::uint64_t member) const;
  double train(State& state, const fiber::rl::Hyperparameters& values,
               std::uint64_t member, std::uint64_t round) const;
  /// The mean return of `state` in episodes that no training and no score used.
  double judge(const State& state, std::size_t episodes) const;
  fiber::rl::SavedPolicy saved(const State& state) const;
  /// What decides a round, for FileLabel::settings.
  std::map<std::string, std::string> settings() const {
    return {{"round", std::to_string(directions) + " directions, " +
                        std::to_string(iterations) + " iterations, " +
                        std::to_string(evaluations) + " evaluations"}};
  }
};

inline Evolved::State Evolved::start(std::uint64_t member) const {
  State state;
  state.parameters = fiber::rl::initial_evolved_parameters(
    spec(), fiber::rl::Random(seed, {301, member}).next());
  state.moment1.resize(state.parameters.size());
  state.moment2.resize(state.parameters.size());
  return state;
}

inline double Evolved::train(State& state, const fiber::rl::Hyperparameters& values,
                             std::uint64_t member, std::uint64_t round) const {
  namespace rl = fiber::rl;
  const auto world = rl::make_environment(environment);
  // A key of its own for each member and round, so that copies do not repeat each other.
  rl::Generation generation;
  generation.seed = rl::Random(seed, {302, member, round}).next();
  generation.policy = rl::evolved_policy(world->spaces(), hidden);
  generation.sigma = static_cast<float>(values[1]);
  const auto noise =
    rl::make_noise_table(state.parameters.size() + (1 << 15), generation.seed);
  rl::Evolution search(
    std::move(state), noise, generation.seed,
    {.directions = directions, .sigma = generation.sigma, .learning_rate = values[0]});
  auto set_parameters = [&] {
    generation.iteration = search.iteration();
    generation.parameters.assign(search.parameters().begin(), search.parameters().end());
  };
  for (std::size_t i = 0; i < iterations; ++i) {
    set_parameters();
    std::vector<rl::MirroredReturns> returns;
    for (auto offset : search.ask())
      returns.push_back(evaluate_direction(*world, generation, noise, offset).returns);
    search.tell(returns);
  }
  set_parameters();
  double total = 0;
  for (std::uint64_t episode = 0; episode < evaluations; ++episode)
    total += evaluate_policy(*world, generation, rl::Judgement::evaluation, episode);
  state = search.state();
  return total / static_cast<double>(evaluations);
}

inline double Evolved::judge(const State& state, std::size_t episodes) const {
  namespace rl = fiber::rl;
  const auto world = rl::make_environment(environment);
  rl::Generation generation;
  generation.seed = seed;
  generation.policy = rl::evolved_policy(world->spaces(), hidden);
  generation.parameters = state.parameters;
  double total = 0;
  for (std::uint64_t episode = 0; episode < episodes; ++episode)
    total += evaluate_policy(*world, generation, rl::Judgement::confirmation, episode);
  return total / static_cast<double>(episodes);
}

inline fiber::rl::SavedPolicy Evolved::saved(const State& state) const {
  const fiber::rl::EvolvedPolicy policy(spec(), state.parameters, {});
  const auto all = policy.spec_parameters();
  return {
    .environment = environment, .spec = spec(), .parameters = {all.begin(), all.end()}};
}

} // namespace pbt
