// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "base/memory_file.hpp"
#include "fiber/value.hpp"

namespace fiber::actors {

/// From this size on, a value costs less as memory that jobs map than as messages.
inline constexpr std::size_t min_mapped = 64 * 1024;

/// A sealed array in memory that other processes of this machine can map and nobody can
/// change. Its tag stands behind the array.
class SharedMemory {
public:
  using Place = MemoryPlace;

  /// Copies `bytes`. Throws std::system_error if there is no memory.
  explicit SharedMemory(std::span<const std::byte> bytes);
  /// Maps the array of another process; null if that is not possible.
  static std::unique_ptr<SharedMemory> open(const Place& place);
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  std::span<const std::byte> bytes() const;
  const Place& place() const { return place_; }

private:
  SharedMemory() = default;
  std::size_t mapped_size() const { return place_.size + sizeof place_.tag; }

  UniqueFd fd_;
  Place place_;
  MemoryMap map_;
};

} // namespace fiber::actors
