// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "base/unique_fd.hpp"
#include "fiber/value.hpp"

namespace fiber::actors {

/// A sealed array in memory that other processes of this machine can map and nobody can
/// change.
class SharedMemory {
public:
  /// Where another process finds the array: a descriptor of the process that made it. The
  /// random tag behind the array proves that it is the right one.
  struct Place {
    std::int32_t pid = 0;
    std::int32_t fd = -1;
    std::uint64_t size = 0;
    std::array<std::uint64_t, 2> tag{};
  };

  /// Copies `bytes`. Throws std::system_error if there is no memory.
  explicit SharedMemory(std::span<const std::byte> bytes);
  /// Maps the array of another process; null if that is not possible.
  static std::unique_ptr<SharedMemory> open(const Place& place);
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  std::span<const std::byte> bytes() const;
  const Place& place() const { return place_; }

private:
  SharedMemory() = default;
  bool map(int fd);
  std::size_t mapped_size() const { return place_.size + sizeof place_.tag; }

  UniqueFd fd_;
  Place place_;
  const std::byte* data_ = nullptr;
};

} // namespace fiber::actors
