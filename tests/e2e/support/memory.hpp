// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <fstream>

#include <malloc.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) ||                                                     \
  defined(__SANITIZE_THREAD__) // g++ has no <sanitizer/allocator_interface.h>.
extern "C" std::size_t __sanitizer_get_current_allocated_bytes(); // NOLINT: its name.
#endif

namespace fiber::e2e {

/// The memory of this process.
inline std::size_t used_bytes() {
#if defined(__SANITIZE_ADDRESS__) ||                                                     \
  defined(__SANITIZE_THREAD__) // Which keep what was freed, or note each access to it.
  return __sanitizer_get_current_allocated_bytes();
#else
  std::ifstream file("/proc/self/statm");
  std::size_t total = 0, resident = 0;
  file >> total >> resident;
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
#endif
}

/// What this process has allocated and not freed.
inline std::size_t allocated_bytes() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return __sanitizer_get_current_allocated_bytes();
#else
  auto all = ::mallinfo2();
  return all.uordblks + all.hblkhd;
#endif
}

} // namespace fiber::e2e
