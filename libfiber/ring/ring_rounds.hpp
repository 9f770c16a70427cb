// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

namespace fiber::detail {

/// Rounds in which the members of a ring show each other bytes, in memory that all of
/// them have mapped. In a round each member fills its box and calls exchange(); then it
/// may read the boxes of all, until it calls exchange() the next time.
///
/// Each member has two boxes that it fills in turn. It may fill one again as soon as its
/// own exchange() has returned: then all have come to that round, and have thus stopped
/// reading the boxes of the round before.
///
/// Thread safety: one thread at a time for each member. Nothing in the memory is used as
/// an address or a length.
class RingRounds {
public:
  /// How much memory a ring needs. It must be zero at first, and aligned as a page.
  /// Larger boxes need fewer rounds, of which each may wait for a processor; boxes of
  /// this size still fit into the last cache of many machines.
  static constexpr std::size_t memory_bytes = std::size_t{16} << 20;

  /// Says which member is gone if one is. Called now and then in a wait.
  using LookForLoss = std::function<std::optional<std::string>()>;

  RingRounds(std::byte* memory, std::size_t rank, std::size_t members, LookForLoss look);
  /// Ends the waits of the others for this member.
  ~RingRounds();
  RingRounds(const RingRounds&) = delete;
  RingRounds& operator=(const RingRounds&) = delete;

  std::size_t rank() const { return rank_; }
  std::size_t members() const { return members_; }
  /// The size of a box.
  std::size_t box_bytes() const { return box_bytes_; }
  /// This member's box for the coming round.
  std::byte* own_box() { return box_at(rank_, round_); }
  /// The box of a member in the last round.
  const std::byte* box(std::size_t rank) { return box_at(rank, round_ - 1); }
  /// Waits until all members have called it. Throws actors::RingBroken if one is gone.
  void exchange();

private:
  using Clock = std::chrono::steady_clock;
  /// A word that threads of several processes wait for.
  using Word = std::atomic<std::uint32_t>;
  static_assert(Word::is_always_lock_free && sizeof(Word) == 4);
  struct Head {
    alignas(128) Word arrived; ///< Counts calls of exchange(), of all members.
    alignas(128) Word round;  ///< Counts complete rounds. Members that sleep wait for it.
    alignas(128) Word parked; ///< Counts members that sleep.
    Word left;                ///< 1: a member is gone.
  };

  Head& head() { return *reinterpret_cast<Head*>(memory_); }
  std::byte* box_at(std::size_t rank, std::uint32_t round);
  bool complete();
  void wait();
  void park(Clock::time_point begin);

  std::byte* const memory_;
  const std::size_t rank_, members_, box_bytes_;
  const LookForLoss look_;
  const bool crowded_;      ///< There are fewer processors than members.
  std::uint32_t round_ = 0; ///< Counts this member's complete rounds. It may wrap.
};

} // namespace fiber::detail
