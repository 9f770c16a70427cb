// SPDX-License-Identifier: Apache-2.0
#include "actors/share/shared_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <random>
#include <string>
#include <system_error>

namespace fiber::actors {
namespace {

constexpr int all_seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL;

void write_all(int fd, const void* data, std::size_t size) {
  auto* next = static_cast<const char*>(data);
  while (size > 0) {
    auto n = ::write(fd, next, size);
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      throw std::system_error(errno, std::generic_category(),
                              "can't write shared memory");
    next += n;
    size -= static_cast<std::size_t>(n);
  }
}

} // namespace

SharedMemory::SharedMemory(std::span<const std::byte> bytes)
  : fd_(::memfd_create("fiber-array", MFD_CLOEXEC | MFD_ALLOW_SEALING)) {
  if (!fd_)
    throw std::system_error(errno, std::generic_category(), "can't make shared memory");
  std::random_device random;
  auto word = [&] { return (std::uint64_t{random()} << 32) | random(); };
  place_ = {::getpid(), fd_.get(), bytes.size(), {word(), word()}};
  write_all(fd_.get(), bytes.data(), bytes.size());
  write_all(fd_.get(), &place_.tag, sizeof place_.tag);
  if (::fcntl(fd_.get(), F_ADD_SEALS, all_seals) != 0 || !map(fd_.get()))
    throw std::system_error(errno, std::generic_category(), "can't seal shared memory");
}

std::unique_ptr<SharedMemory> SharedMemory::open(const Place& place) {
  auto path = "/proc/" + std::to_string(place.pid) + "/fd/" + std::to_string(place.fd);
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd)
    return nullptr;
  std::unique_ptr<SharedMemory> memory(new SharedMemory);
  memory->place_ = place;
  struct stat status {};
  auto seals = ::fcntl(fd.get(), F_GET_SEALS); // Fails unless it is a memfd.
  if (seals < 0 || (seals & all_seals) != all_seals || ::fstat(fd.get(), &status) != 0 ||
      static_cast<std::uint64_t>(status.st_size) != memory->mapped_size() ||
      !memory->map(fd.get()) ||
      std::memcmp(memory->data_ + place.size, &place.tag, sizeof place.tag) != 0)
    return nullptr; // On another machine the path may lead to anything.
  return memory;
}

bool SharedMemory::map(int fd) {
  auto* at = ::mmap(nullptr, mapped_size(), PROT_READ, MAP_SHARED, fd, 0);
  if (at == MAP_FAILED)
    return false;
  data_ = static_cast<const std::byte*>(at);
  return true;
}

SharedMemory::~SharedMemory() {
  if (data_ != nullptr)
    ::munmap(const_cast<std::byte*>(data_), mapped_size());
}

std::span<const std::byte> SharedMemory::bytes() const {
  return {data_, place_.size};
}

} // namespace fiber::actors
