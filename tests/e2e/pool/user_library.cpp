// SPDX-License-Identifier: Apache-2.0
#include "tests/e2e/pool/user_library.hpp"

namespace fiber::e2e {

std::size_t triple(std::size_t i) {
  return 3 * i;
}

LibraryCode user_library() {
  return {[](std::size_t i) { return 4 * i; },
          [](Pool& pool, const std::vector<std::size_t>& items) {
            return pool.map([](std::size_t i) { return i + 5; }, items);
          }};
}

} // namespace fiber::e2e
