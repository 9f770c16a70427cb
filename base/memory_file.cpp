// SPDX-License-Identifier: Apache-2.0
#include "base/memory_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <random>
#include <string>
#include <system_error>
#include <utility>

namespace fiber {

UniqueFd make_memory_file(const char* name) {
  UniqueFd fd(::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd)
    throw std::system_error(errno, std::generic_category(), "can't make shared memory");
  return fd;
}

void seal_memory_file(const UniqueFd& fd, int seals) {
  constexpr int max_tries = 20; // The kernel waits for some 0.1 s in each.
  for (int i = 0; ::fcntl(fd.get(), F_ADD_SEALS, seals) != 0; ++i)
    if (errno != EBUSY || i == max_tries)
      throw std::system_error(errno, std::generic_category(), "can't seal shared memory");
}

MemoryPlace place_memory_file(const UniqueFd& fd, std::uint64_t size) {
  std::random_device random;
  auto word = [&] { return (std::uint64_t{random()} << 32) | random(); };
  return {::getpid(), fd.get(), size, {word(), word()}};
}

UniqueFd open_memory_file(const MemoryPlace& place, std::uint64_t bytes, int seals,
                          bool writable) {
  auto path = "/proc/" + std::to_string(place.pid) + "/fd/" + std::to_string(place.fd);
  UniqueFd fd(
    ::open(path.c_str(), (writable ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  auto found = fd ? ::fcntl(fd.get(), F_GET_SEALS) : -1; // Fails unless it is a memfd.
  if (found < 0 || (found & seals) != seals || ::fstat(fd.get(), &status) != 0 ||
      static_cast<std::uint64_t>(status.st_size) != bytes)
    return {};
  return fd;
}

MemoryMap::MemoryMap(const UniqueFd& fd, std::size_t bytes, bool writable) {
  auto* at = ::mmap(nullptr, bytes, writable ? PROT_READ | PROT_WRITE : PROT_READ,
                    MAP_SHARED, fd.get(), 0);
  if (at == MAP_FAILED)
    return;
  data_ = static_cast<std::byte*>(at);
  size_ = bytes;
}

MemoryMap::MemoryMap(MemoryMap&& other) noexcept
  : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MemoryMap& MemoryMap::operator=(MemoryMap&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

MemoryMap::~MemoryMap() {
  if (data_ != nullptr)
    ::munmap(data_, size_);
}

} // namespace fiber
