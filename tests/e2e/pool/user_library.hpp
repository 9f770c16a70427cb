// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include <fiber/pool.hpp>

namespace fiber::e2e {

/// What a shared library of the user's own holds, beside triple(); none of it has a name
/// outside.
struct LibraryCode {
  std::size_t (*quadruple)(std::size_t);
  /// Maps a lambda that adds 5.
  std::vector<std::size_t> (*map_a_lambda)(Pool& pool,
                                           const std::vector<std::size_t>& items);
};

// user_library.cpp is built twice: one copy is linked, the other one is opened by name.

std::size_t triple(std::size_t i);
extern "C" LibraryCode user_library();

} // namespace fiber::e2e
