// SPDX-License-Identifier: Apache-2.0
#include "base/freed_memory.hpp"

#include <cstdlib>

#include <malloc.h>

namespace fiber {
namespace {

#ifdef __GLIBC__
enum class Block { mapped, from_heap, none };

/// Allocates a block, frees it, and returns where it came from. The block is not written
/// to, so it takes no memory.
Block try_block(std::size_t size) {
  const auto mapped = mallinfo2().hblks;
  void* volatile block = std::malloc(size); // Volatile: it must not be optimised away.
  const auto from = block == nullptr             ? Block::none
                    : mallinfo2().hblks > mapped ? Block::mapped
                                                 : Block::from_heap;
  std::free(block);
  return from;
}
#endif

} // namespace

void keep_freed_memory([[maybe_unused]] std::size_t at_end) {
#ifdef __GLIBC__
  // While no threshold is set, glibc maps large blocks. If one of up to 32 MiB is freed,
  // blocks of its size come from the heap from then on.
  constexpr std::size_t most = (std::size_t{32} << 20) - 64 * 1024;
  if (try_block(most) != Block::mapped || try_block(most) != Block::from_heap)
    return;
  malloc_trim(0); // The heap has grown by the second block.
  mallopt(M_TRIM_THRESHOLD, static_cast<int>(at_end));
#endif
}

} // namespace fiber
