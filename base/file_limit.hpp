// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <sys/resource.h>

namespace fiber {

/// Returns whether this process may make a file of that size, in memory or not. If it may
/// not, the attempt to do so would kill it by a signal.
inline bool may_make_file(std::uint64_t bytes) {
  rlimit limit{};
  return ::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur >= bytes;
}

} // namespace fiber
