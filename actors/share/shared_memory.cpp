// SPDX-License-Identifier: Apache-2.0
#include "actors/share/shared_memory.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
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
  : fd_(make_memory_file("fiber-array")), place_(place_memory_file(fd_, bytes.size())) {
  write_all(fd_.get(), bytes.data(), bytes.size());
  write_all(fd_.get(), &place_.tag, sizeof place_.tag);
  seal_memory_file(fd_, all_seals);
  map_ = MemoryMap(fd_, mapped_size());
  if (!map_)
    throw std::system_error(errno, std::generic_category(), "can't map shared memory");
}

std::unique_ptr<SharedMemory> SharedMemory::open(const Place& place) {
  std::unique_ptr<SharedMemory> memory(new SharedMemory);
  memory->place_ = place;
  auto fd = open_memory_file(place, memory->mapped_size(), all_seals);
  if (!fd)
    return nullptr;
  memory->map_ = MemoryMap(fd, memory->mapped_size());
  if (!memory->map_ ||
      std::memcmp(memory->map_.data() + place.size, &place.tag, sizeof place.tag) != 0)
    return nullptr;
  return memory;
}

std::span<const std::byte> SharedMemory::bytes() const {
  return {map_.data(), place_.size};
}

} // namespace fiber::actors
