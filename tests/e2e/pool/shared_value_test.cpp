// SPDX-License-Identifier: Apache-2.0
// The promise: jobs of this machine read one copy of a large shared value, also when one
// of them dies while it reads, and nothing of it is left when nobody holds it.
#include <csignal>
#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include <fiber/fiber.hpp>
#include <gtest/gtest.h>

#include "tests/e2e/support/modes.hpp"
#include "tests/e2e/support/processes.hpp"

namespace fiber::e2e {
namespace {

constexpr std::size_t size = 2'000'000;

/// How many shared values this process has in memory.
std::size_t values_in_memory() {
  std::size_t found = 0;
  for (auto& fd : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    auto file = std::filesystem::read_symlink(fd, gone).string();
    found += file.starts_with("/memfd:fiber-array") ? 1 : 0;
  }
  return found;
}

std::size_t count(const Shared<std::string>& text, std::size_t) {
  return text->size();
}

/// Dies at the first attempt, when it has begun to read.
std::size_t count_and_die(const Shared<std::string>& text, std::size_t i) {
  if (i == 3 && text->back() == 'x' && this_task::attempt() == 1)
    std::raise(SIGKILL);
  return text->size();
}

class SharedValue : public EveryMode {};

TEST_P(SharedValue, is_not_sent_to_jobs_of_this_machine) {
  Pool pool(3);
  const auto before = pool.stats().bytes_sent;
  auto text = share(std::string(size, 'x'));
  EXPECT_EQ(pool.map(fiber::bind(count, text), std::vector<std::size_t>(30)),
            std::vector<std::size_t>(30, size));
  EXPECT_LT(pool.stats().bytes_sent - before, size);
}

TEST_P(SharedValue, is_read_again_for_a_job_that_dies_and_leaves_nothing) {
  Pool pool(2);
  {
    auto text = share(std::string(size, 'x'));
    std::vector<std::size_t> items{0, 1, 2, 3, 4, 5};
    EXPECT_EQ(pool.map(fiber::bind(count_and_die, text), items),
              std::vector<std::size_t>(items.size(), size));
    EXPECT_EQ(values_in_memory(), 1U);
  }
  EXPECT_TRUE(wait_until([] { return values_in_memory() == 0; }));
}

INSTANTIATE_TEST_SUITE_P(On, SharedValue, testing::ValuesIn(job_modes()), mode_name);

} // namespace
} // namespace fiber::e2e
