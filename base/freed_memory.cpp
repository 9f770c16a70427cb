// SPDX-License-Identifier: Apache-2.0
#include "base/freed_memory.hpp"

#include <cstddef>
#include <cstdlib>

#include <malloc.h>

namespace fiber {

void keep_freed_memory() {
#ifdef __GLIBC__
  constexpr std::size_t most_block = std::size_t{32} << 20; // glibc accepts no more.
  constexpr int most_at_end = 256 << 20;
  // While nobody has set a threshold, freeing a mapped block raises it to that size. The
  // pages of this block are never touched.
  void* volatile block = std::malloc(most_block - 64 * 1024);
  std::free(block);
  const auto mapped = mallinfo2().hblks;
  block = std::malloc(most_block / 2);
  const auto was_raised = mallinfo2().hblks == mapped;
  std::free(block);
  if (was_raised)
    mallopt(M_TRIM_THRESHOLD, most_at_end);
#endif
}

} // namespace fiber
