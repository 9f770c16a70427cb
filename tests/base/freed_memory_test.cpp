// SPDX-License-Identifier: Apache-2.0
// The promise: large blocks stay in the process when they are freed.

#include "base/freed_memory.hpp"

#include <cstdlib>

#include <gtest/gtest.h>
#include <malloc.h>

namespace fiber {
namespace {

/// Returns how many blocks malloc has mapped, each of which goes back to the kernel.
std::size_t mapped_blocks() {
  return mallinfo2().hblks;
}

TEST(FreedMemory, a_large_block_is_not_mapped_for_itself) {
  keep_freed_memory();

  auto before = mapped_blocks();
  void* volatile block = std::malloc(16 << 20);
  EXPECT_EQ(mapped_blocks(), before);
  std::free(block);
}

} // namespace
} // namespace fiber
