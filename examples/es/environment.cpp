// SPDX-License-Identifier: Apache-2.0
#include "es/environment.hpp"

#include <stdexcept>
#include <string>

#include "es/cartpole.hpp"
#include "es/pendulum.hpp"
#include "es/quadratic.hpp"

namespace es {

void Environment::reset(Random& random) {
  steps_ = 0;
  start(random);
}

Step Environment::step(std::span<const float> action) {
  auto result = advance(action);
  result.truncated = ++steps_ >= step_limit();
  return result;
}

std::unique_ptr<Environment> make_environment(std::string_view name) {
  if (name == "cartpole")
    return std::make_unique<CartPole>();
  if (name == "pendulum")
    return std::make_unique<Pendulum>();
  if (name == "quadratic")
    return std::make_unique<Quadratic>();
  throw std::invalid_argument("no environment \"" + std::string(name) +
                              "\"; there are cartpole, pendulum and quadratic");
}

} // namespace es
