// SPDX-License-Identifier: Apache-2.0
#include "backends/shortage.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>

#include "base/ascii.hpp"

namespace fiber::backends {

bool is_shortage(int status, std::string_view words) {
  constexpr std::array errors{EMFILE, ENFILE, EAGAIN, ENOMEM, ENOSPC, EBUSY, EDQUOT};
  constexpr std::array of_the_kernel{"too many open files",
                                     "resource temporarily unavailable",
                                     "cannot allocate memory", "no space left on device"};
  constexpr int server_error = 500;
  auto text = ascii::lower(std::string(words));
  auto says = [&](const char* part) { return text.find(part) != text.npos; };
  return std::ranges::find(errors, status) != errors.end() ||
         (status >= server_error && std::ranges::any_of(of_the_kernel, says));
}

} // namespace fiber::backends
