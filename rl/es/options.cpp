// SPDX-License-Identifier: Apache-2.0
#include "fiber/rl/evolution_training.hpp"

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

} // namespace fiber::rl
