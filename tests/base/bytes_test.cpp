// SPDX-License-Identifier: Apache-2.0
#include "fiber/bytes.hpp"

#include <gtest/gtest.h>

using fiber::Bytes;
using fiber::Payload;
using fiber::detail::recycle;
using fiber::detail::reuse;

namespace {

constexpr std::size_t megabyte = 1024 * 1024;

TEST(Blocks, a_block_returns_when_the_last_payload_that_shares_it_is_gone) {
  Bytes block(3 * megabyte);
  const auto* memory = block.data();
  auto part = Payload(std::move(block)).slice(10, 20);
  EXPECT_NE(reuse(3 * megabyte).data(), memory);
  part = {};
  EXPECT_EQ(reuse(3 * megabyte).data(), memory);
}

TEST(Blocks, a_reused_block_is_neither_too_small_nor_far_too_large) {
  recycle(Bytes(8 * megabyte));
  EXPECT_EQ(reuse(9 * megabyte).capacity(), 0u);
  EXPECT_EQ(reuse(megabyte).capacity(), 0u);
  EXPECT_GE(reuse(4 * megabyte).capacity(), 8 * megabyte);
}

TEST(Blocks, blocks_are_kept_up_to_a_limit) {
  for (int i = 0; i < 100; ++i)
    recycle(Bytes(5 * megabyte));
  std::size_t kept = 0;
  for (;;) {
    const auto block = reuse(5 * megabyte);
    if (block.capacity() == 0)
      break;
    kept += block.capacity();
  }
  EXPECT_GT(kept, 0u);
  EXPECT_LE(kept, 32 * megabyte);
}

} // namespace
