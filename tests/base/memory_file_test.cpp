// SPDX-License-Identifier: Apache-2.0
// The promise: memory can be sealed though the kernel holds its pages for a moment.

#include "base/memory_file.hpp"

#include <array>
#include <cerrno>
#include <string>
#include <system_error>
#include <thread>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/uio.h>
#include <unistd.h>

namespace fiber {
namespace {

TEST(MemoryFile, is_sealed_when_the_kernel_has_let_go_of_its_pages) {
  constexpr std::size_t bytes = 4096;
  auto fd = make_memory_file("test");
  ASSERT_EQ(::ftruncate(fd.get(), bytes), 0);
  UniqueFd reading(
    ::open(("/proc/self/fd/" + std::to_string(fd.get())).c_str(), O_RDONLY | O_CLOEXEC));
  MemoryMap map(reading, bytes);
  ASSERT_TRUE(map);
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  UniqueFd out(ends[0]), in(ends[1]);
  iovec page{map.data(), bytes};
  ASSERT_EQ(::vmsplice(in.get(), &page, 1, 0), static_cast<ssize_t>(bytes)); // Held now.

  std::thread reader([&] {
    EXPECT_EQ(::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_WRITE), -1);
    EXPECT_EQ(errno, EBUSY);
    std::array<std::byte, bytes> text;
    EXPECT_EQ(::read(out.get(), text.data(), bytes), static_cast<ssize_t>(bytes));
  });
  EXPECT_NO_THROW(seal_memory_file(fd, F_SEAL_WRITE));
  reader.join();
  EXPECT_NE(::fcntl(fd.get(), F_GET_SEALS) & F_SEAL_WRITE, 0);
}

TEST(MemoryFile, that_a_process_has_mapped_for_writing_is_not_sealed) {
  auto fd = make_memory_file("test");
  ASSERT_EQ(::ftruncate(fd.get(), 4096), 0);
  MemoryMap map(fd, 4096, true);
  EXPECT_THROW(seal_memory_file(fd, F_SEAL_WRITE), std::system_error);
}

} // namespace
} // namespace fiber
