// SPDX-License-Identifier: Apache-2.0
// The promise: what Fiber opens is never a standard descriptor, even if the program has
// closed these.
#include "base/unique_fd.hpp"

#include <cerrno>

#include <fcntl.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace fiber {
namespace {

/// Closes a standard descriptor while it lives.
class ClosedDescriptor {
public:
  explicit ClosedDescriptor(int fd) : fd_(fd), kept_(::fcntl(fd, F_DUPFD_CLOEXEC, 3)) {
    ::close(fd);
  }
  ~ClosedDescriptor() {
    if (kept_ >= 0)
      ::dup2(kept_, fd_);
    ::close(kept_);
  }
  ClosedDescriptor(const ClosedDescriptor&) = delete;
  ClosedDescriptor& operator=(const ClosedDescriptor&) = delete;

private:
  int fd_, kept_;
};

bool is_open(int fd) {
  return ::fcntl(fd, F_GETFD) >= 0;
}

TEST(UniqueFd, is_above_the_standard_descriptors) {
  for (int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    const ClosedDescriptor closed(standard);
    const int low = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    ASSERT_EQ(low, standard);
    UniqueFd fd(low);
    EXPECT_GT(fd.get(), STDERR_FILENO);
    EXPECT_EQ(::fcntl(fd.get(), F_GETFD), FD_CLOEXEC);
    EXPECT_FALSE(is_open(standard));
    fd.reset(::open("/dev/null", O_RDONLY)); // For a child to inherit.
    EXPECT_GT(fd.get(), STDERR_FILENO);
    EXPECT_EQ(::fcntl(fd.get(), F_GETFD), 0);
    EXPECT_FALSE(is_open(standard));
  }
}

TEST(UniqueFd, of_a_failed_call_is_empty_and_leaves_its_error) {
  UniqueFd fd(::open("/none", O_RDONLY));
  EXPECT_EQ(errno, ENOENT);
  EXPECT_FALSE(fd);
}

TEST(StandardDescriptors, that_are_closed_are_opened_as_dev_null) {
  const ClosedDescriptor closed(STDIN_FILENO);
  open_standard_descriptors();
  char byte = 0;
  EXPECT_EQ(::read(STDIN_FILENO, &byte, 1), 0);
}

} // namespace
} // namespace fiber
