// SPDX-License-Identifier: Apache-2.0
// The promise: a local job has the memory and the devices that it was given, and no more.
#include <cstdlib>
#include <string>
#include <vector>

#include <fiber/fiber.hpp>
#include <gtest/gtest.h>

#include "tests/e2e/support/fixture.hpp"

namespace fiber::e2e {
namespace {

class LocalResources : public SessionTest {};

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST_F(LocalResources, allocates_no_more_than_its_memory_limit) {
  open();
  auto allocate = [](std::size_t mb) { return std::vector<char>(mb << 20, 1).size(); };
  EXPECT_EQ(fiber::async(meta(allocate, {.memory_mb = 300}), std::size_t{50}).get(),
            std::size_t{50} << 20);
  try {
    fiber::async(meta(allocate, {.memory_mb = 300}), std::size_t{400}).get();
    FAIL() << "it had more";
  } catch (const RemoteError& error) {
    EXPECT_EQ(error.type(), "std::bad_alloc");
  }
}
#endif

TEST_F(LocalResources, sees_the_gpus_that_are_its_own) {
  setenv("CUDA_VISIBLE_DEVICES", "7,8", 1);
  open();
  auto devices = meta(
    [] {
      note_and_wait("there");
      return std::string(std::getenv("CUDA_VISIBLE_DEVICES"));
    },
    {.gpu = 1});
  auto one = fiber::async(devices), other = fiber::async(devices);
  EXPECT_TRUE(wait_until([] { return notes("there").size() == 2; }));
  EXPECT_THROW(fiber::async(devices).get(), BackendError);
  note("go", "");
  auto seen = one.get() + "," + other.get();
  EXPECT_TRUE(seen == "7,8" || seen == "8,7") << seen;
  unsetenv("CUDA_VISIBLE_DEVICES");
}

} // namespace
} // namespace fiber::e2e
