// SPDX-License-Identifier: Apache-2.0
#include "fiber/rl/evolution_training.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <string_view>

#include "rl/env/robots.hpp"

namespace fiber::rl {

// docs/rl/evolution-strategies.md says where the numbers are from, and which were tried.
EvolutionTrainingOptions evolution_options(const std::string& environment) {
  EvolutionTrainingOptions options;
  options.environment = environment;
  auto& search = options.search;
  if (environment == "cartpole") {
    // Small steps and thorough judgement: the run lasts long enough to be watched, and
    // its workers to be killed. learning_rate = 0.01 and 16 episodes solve it in seconds.
    options.iterations = 400;
    options.episodes = 64;
    options.solved_at = 475;
    search.learning_rate = 0.001;
  } else if (environment == "pendulum") {
    options.episodes = 8;
    search.learning_rate = 0.05;
  } else if (environment == "acrobot") {
    options.episodes = 4;
    options.solved_at = -100;
    search.directions = 64;
    search.learning_rate = 0.02;
  } else if (environment == "mountain_car_continuous") {
    // A reward comes only from the top of the hill: candidates must differ enough for one
    // of them to swing up.
    options.normalise = true;
    options.episodes = 4;
    options.solved_at = 90;
    search.directions = 64;
    search.sigma = 0.5f;
    search.learning_rate = 0.05;
  } else if (environment == "lunar_lander") {
    options.iterations = 400;
    options.hidden = {32, 32};
    options.normalise = true;
    options.episodes = 4;
    options.solved_at = 200;
    search.directions = 128;
    search.learning_rate = 0.02;
  } else if (environment.starts_with("bipedal_walker")) {
    options.iterations = 1000;
    options.hidden = {40, 40};
    options.normalise = true;
    options.evaluations = 20;
    options.solved_at = 300;
    search.directions = 256;
    search.learning_rate = 0.01;
  } else {
    options.normalise = true;
    options.evaluations = 20;
    options.hidden = {32, 32};
    search.learning_rate = 0.02;
  }
  return options;
}

EvolutionTrainingOptions ars_options(const std::string& environment,
                                     std::optional<ArsVariant> variant) {
  struct Robot {
    std::string_view name;
    std::size_t iterations, directions, top;
    double learning_rate;
    float sigma;
    double alive_bonus_offset;
  };
  constexpr Robot general{.name = "",
                          .iterations = 200,
                          .directions = 32,
                          .top = 16,
                          .learning_rate = 0.02,
                          .sigma = 0.03F,
                          .alive_bonus_offset = 0};
  constexpr Robot robots[] = {{"half_cheetah", 200, 32, 4, 0.02, 0.03F, 0},
                              {"hopper", 1000, 8, 4, 0.01, 0.025F, -1},
                              {"swimmer", 2000, 1, 1, 0.02, 0.01F, 0},
                              {"walker2d", 1000, 40, 30, 0.03, 0.025F, -1},
                              {"ant", 1000, 60, 20, 0.015, 0.025F, -1},
                              {"humanoid", 500, 230, 230, 0.02, 0.0075F, -5}};
  const auto task = robot_of(environment).value_or(environment);
  const auto* found = std::ranges::find(robots, task, &Robot::name);
  const auto& robot = found == std::end(robots) ? general : *found;
  const auto chosen =
    variant.value_or(task == "swimmer" ? ArsVariant::v1 : ArsVariant::v2_t);

  auto options = evolution_options(environment);
  options.iterations = robot.iterations;
  options.hidden = {};
  options.weights_only = true;
  options.episodes = 1;
  options.evaluations = 20;
  options.evaluate_every = 10;
  options.normalise = chosen == ArsVariant::v2 || chosen == ArsVariant::v2_t;
  options.counted_share = 1;
  options.observation_clip = std::numeric_limits<double>::infinity();
  options.alive_bonus_offset = robot.alive_bonus_offset;
  const bool best_only = chosen == ArsVariant::v1_t || chosen == ArsVariant::v2_t;
  options.search = {.directions = robot.directions,
                    .sigma = robot.sigma,
                    .learning_rate = robot.learning_rate,
                    .optimiser = Optimiser::sgd,
                    .top = best_only ? robot.top : 0,
                    .normalise_by_deviation = true};
  return options;
}

} // namespace fiber::rl
