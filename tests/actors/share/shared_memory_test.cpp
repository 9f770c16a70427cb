// SPDX-License-Identifier: Apache-2.0
// The promise: only a sealed array is ever mapped as shared memory.

#include <cstdlib>
#include <cstring>
#include <future>
#include <string>
#include <thread>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "actors/share/shared_memory.hpp"

using namespace fiber;
using namespace fiber::actors;

namespace {

SharedMemory::Place place_of(int fd) {
  return {::getpid(), fd, 8, {1, 2}};
}

TEST(SharedMemory, opening_a_fifo_instead_does_not_block) {
  auto path = testing::TempDir() + "fiber-share-test-" + std::to_string(::getpid());
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  UniqueFd read_end(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  ::unlink(path.c_str());
  ASSERT_TRUE(read_end); // To open it again would wait for somebody to write.
  std::promise<bool> opened;
  std::thread opener([&opened, place = place_of(read_end.get())] {
    opened.set_value(SharedMemory::open(place) != nullptr);
  });
  auto answer = opened.get_future();
  auto there = answer.wait_for(std::chrono::minutes(1)) == std::future_status::ready;
  if (!there)
    std::abort(); // The thread can't be ended.
  EXPECT_FALSE(answer.get());
  opener.join();
}

TEST(SharedMemory, a_file_that_may_still_change_is_refused) {
  UniqueFd fd(::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  auto place = place_of(fd.get());
  Bytes bytes(place.size + sizeof place.tag);
  std::memcpy(bytes.data() + place.size, &place.tag, sizeof place.tag);
  ASSERT_EQ(::write(fd.get(), bytes.data(), bytes.size()),
            static_cast<ssize_t>(bytes.size()));
  EXPECT_FALSE(SharedMemory::open(place));
  SharedMemory sealed(Bytes(8));
  EXPECT_TRUE(SharedMemory::open(sealed.place()));
}

} // namespace
