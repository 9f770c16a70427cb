// SPDX-License-Identifier: Apache-2.0
#include "backends/engine/retry_pause.hpp"

#include <algorithm>
#include <random>

namespace fiber::backends {

std::chrono::milliseconds retry_pause(int number, std::chrono::milliseconds first,
                                      std::chrono::milliseconds max) {
  using std::chrono::milliseconds;
  constexpr int max_doublings = 10;
  thread_local std::minstd_rand random(std::random_device{}());
  auto pause = std::min(first * (1 << std::min(number, max_doublings)), max);
  return milliseconds(
    std::uniform_int_distribution<long>(pause.count() / 2, pause.count())(random));
}

} // namespace fiber::backends
