// SPDX-License-Identifier: Apache-2.0
// es_train with environments that have mistakes which show only in a later step.

#include <cmath>

#include <signal.h>
#include <unistd.h>

#include "fiber/rl/environments.hpp"
#include "fiber/rl/es_train.hpp"

namespace {

using fiber::rl::Step;

struct Sound {
  using Action = int;
  static constexpr int actions = 2;
  static constexpr std::size_t observation_size = 1;

  void reset(std::uint64_t) { steps = 0; }
  Step step(int) { return {.reward = 1, .truncated = ++steps == 30}; }
  void observe(std::span<float> out) const { out[0] = 1; }

  int steps = 0;
};

struct Crashing : Sound {
  Step step(int action) {
    if (steps == 20)
      ::kill(::getpid(), SIGKILL);
    return Sound::step(action);
  }
};

struct Nan : Sound {
  Step step(int action) {
    auto result = Sound::step(action);
    if (steps == 20)
      result.reward = std::nan("");
    return result;
  }
};

struct Narrow : Sound {
  static constexpr std::size_t observation_size = 2;
};

} // namespace

int main(int argc, char** argv) {
  fiber::rl::register_environment<Crashing>("crashing");
  fiber::rl::register_environment<Nan>("nan");
  fiber::rl::register_environment<Narrow>("narrow");
  return fiber::rl::run_es_train(argc, argv);
}
