// SPDX-License-Identifier: Apache-2.0
#include "fiber/main_guard.hpp"

#include <cstdio>
#include <cstdlib>

namespace fiber::detail {

int report_error(const std::exception& error) noexcept {
  std::fprintf(stderr, "error: %s\n", error.what());
  return EXIT_FAILURE;
}

} // namespace fiber::detail
