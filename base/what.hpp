// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <string>

namespace fiber {

/// Returns what() of an exception that may be of the user's; "" if that is null.
inline std::string what_of(const std::exception& error) {
  const char* what = error.what();
  return what == nullptr ? "" : what;
}

} // namespace fiber
