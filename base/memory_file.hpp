// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/unique_fd.hpp"

namespace fiber {

/// Where other processes of this machine find memory that a process has made: one of its
/// descriptors. The maker writes the random tag into the memory, which proves that it is
/// the right one.
struct MemoryPlace {
  std::int32_t pid = 0;
  std::int32_t fd = -1;
  std::uint64_t size = 0;
  std::array<std::uint64_t, 2> tag{};
};

/// Makes a memfd that can be sealed. Throws std::system_error. The memory lasts until the
/// last process has closed and unmapped it, however these processes end.
UniqueFd make_memory_file(const char* name);
/// Seals a memfd that no process has mapped for writing. Throws std::system_error. The
/// kernel refuses to seal while it holds pages itself, as when it moves or reclaims
/// memory; then this tries again for up to some seconds.
void seal_memory_file(const UniqueFd& fd, int seals);
/// Returns the place of a memfd of this process, with a tag of its own.
MemoryPlace place_memory_file(const UniqueFd& fd, std::uint64_t size);
/// Opens the memfd of another process for reading, or also for writing. Returns an empty
/// descriptor unless it has all of `seals` and `bytes` bytes: on another machine the path
/// may lead to anything. The caller must compare the tag.
UniqueFd open_memory_file(const MemoryPlace& place, std::uint64_t bytes, int seals,
                          bool writable = false);

/// Memory that is mapped from a descriptor until the end of the object.
class MemoryMap {
public:
  MemoryMap() = default;
  /// Maps `bytes` bytes; holds nothing if that is not possible.
  MemoryMap(const UniqueFd& fd, std::size_t bytes, bool writable = false);
  MemoryMap(MemoryMap&& other) noexcept;
  MemoryMap& operator=(MemoryMap&& other) noexcept;
  ~MemoryMap();

  std::byte* data() const { return data_; }
  std::size_t size() const { return size_; }
  explicit operator bool() const { return data_ != nullptr; }

private:
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

} // namespace fiber
