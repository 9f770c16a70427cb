// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

namespace fiber::e2e {

/// Pieces of a megabyte that each of the two workers of "flood" prints.
inline constexpr std::size_t flood_pieces = 200;

/// What the tests' own program does as a driver, `docker_e2e_test drive WHAT`: "map" says
/// in how many jobs a map ran, "hold" keeps three workers busy for good, "talk" lets
/// tasks print, "flood" too much.
int drive(const std::string& what);

} // namespace fiber::e2e
