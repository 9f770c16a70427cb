// SPDX-License-Identifier: Apache-2.0
#include <stdexcept>
#include <string>

#include "fiber/rl/environment.hpp"

namespace fiber::rl {

int Spaces::checked_actions(long long count, const std::string& owner) {
  if (count > max_actions)
    throw std::invalid_argument(owner + " has " + std::to_string(count) +
                                " discrete actions; there may be at most " +
                                std::to_string(max_actions) +
                                ", as an action is a float, which has no exact value for "
                                "each whole number beyond");
  return static_cast<int>(count);
}

} // namespace fiber::rl
