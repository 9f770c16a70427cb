// SPDX-License-Identifier: Apache-2.0
#include "base/random_id.hpp"

#include <random>

namespace fiber {

std::string random_id() {
  constexpr int digits = 12;
  std::random_device random;
  std::string id;
  for (int i = 0; i < digits; ++i)
    id += "0123456789abcdef"[random() % 16];
  return id;
}

} // namespace fiber
