// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/memory_file.hpp"
#include "libfiber/ring/ring_rounds.hpp"

namespace fiber::detail {

/// The memory in which the members of a ring meet if all of them are on one machine: each
/// has mapped it and sees the processes of the others, so that it notices their end. Rank
/// 0 makes it. It has no name, and lasts until the last member has ended.
class RingMemory {
public:
  /// Makes the memory, as rank 0; null if that is not possible.
  static std::unique_ptr<RingMemory> make(std::size_t members);
  /// Maps the memory of rank 0; null if that is not possible.
  static std::unique_ptr<RingMemory> open(const MemoryPlace& place, std::size_t rank,
                                          std::size_t members);
  RingMemory(const RingMemory&) = delete;
  RingMemory& operator=(const RingMemory&) = delete;

  const MemoryPlace& place() const { return place_; }
  /// Returns whether this process sees those of all members. To be called when all have
  /// mapped the memory, and before the first round.
  bool sees_all();
  RingRounds& rounds() { return rounds_; }

private:
  struct Seat {
    std::int32_t pid, fd;
    std::uint32_t taken;
  };

  RingMemory(UniqueFd fd, MemoryMap map, const MemoryPlace& place, std::size_t rank,
             std::size_t members);
  Seat* seats() const { return reinterpret_cast<Seat*>(map_.data() + sizeof place_.tag); }
  std::optional<std::string> find_loss() const;

  const UniqueFd fd_;
  const MemoryMap map_;
  const MemoryPlace place_;
  std::vector<UniqueFd> processes_; ///< Pidfds by rank; none for this member.
  RingRounds rounds_;
};

} // namespace fiber::detail
