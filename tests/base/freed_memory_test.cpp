// SPDX-License-Identifier: Apache-2.0
// The promise: freed memory stays in the process, unless the program wants otherwise.

#include "base/freed_memory.hpp"

#include <array>
#include <cstdlib>

#include <gtest/gtest.h>
#include <malloc.h>

namespace fiber {
namespace {

constexpr std::size_t megabyte = 1 << 20;

/// Returns the size of the heap's end after 100 blocks of a megabyte were freed.
std::size_t kept_of_100_megabytes() {
  std::array<void*, 100> blocks = {};
  for (auto*& block : blocks)
    block = std::malloc(megabyte);
  for (auto* block : blocks)
    std::free(block);
  return mallinfo2().keepcost;
}

/// Expects it of a new process, as malloc keeps what was set.
void expect_in_own_process(bool (*holds)()) {
  EXPECT_EXIT(std::_Exit(holds() ? 0 : 1), testing::ExitedWithCode(0), "");
}

TEST(FreedMemory, large_blocks_stay) {
  expect_in_own_process([] {
    keep_freed_memory(256 * megabyte);
    return kept_of_100_megabytes() > 99 * megabyte;
  });
}

TEST(FreedMemory, more_than_the_limit_does_not_stay) {
  expect_in_own_process([] {
    keep_freed_memory(80 * megabyte);
    return kept_of_100_megabytes() < 81 * megabyte;
  });
}

TEST(FreedMemory, a_threshold_of_the_program_is_kept) {
  expect_in_own_process([] {
    mallopt(M_TRIM_THRESHOLD, megabyte); // Also fixes the size of blocks that are mapped.
    keep_freed_memory(256 * megabyte);
    return kept_of_100_megabytes() < 2 * megabyte;
  });
}

TEST(FreedMemory, both_thresholds_of_the_program_are_kept) {
  expect_in_own_process([] {
    mallopt(M_MMAP_THRESHOLD, 32 * megabyte);
    mallopt(M_TRIM_THRESHOLD, megabyte);
    keep_freed_memory(256 * megabyte);
    return kept_of_100_megabytes() < 2 * megabyte;
  });
}

TEST(FreedMemory, a_threshold_that_the_program_sets_later_outlives_a_second_session) {
  expect_in_own_process([] {
    keep_freed_memory(256 * megabyte);
    mallopt(M_TRIM_THRESHOLD, megabyte);
    keep_freed_memory(256 * megabyte);
    return kept_of_100_megabytes() < 2 * megabyte;
  });
}

} // namespace
} // namespace fiber
