// SPDX-License-Identifier: Apache-2.0
#include "fiber/main_guard.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/terminal_text.hpp"
#include "base/what.hpp"

namespace fiber::detail {

int report_error(const std::exception& error) noexcept {
  std::string text = what_of(error); // Which may quote a worker.
  if (::isatty(STDERR_FILENO) != 0)
    text = for_log(text);
  std::fprintf(stderr, "error: %s\n", text.c_str());
  return EXIT_FAILURE;
}

} // namespace fiber::detail
