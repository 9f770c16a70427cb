// SPDX-License-Identifier: Apache-2.0
#include <fiber/ring.hpp>

void compile_it() {
  fiber::Ring<int> ring(2, [](int i) { return i; });
}
