// SPDX-License-Identifier: Apache-2.0
#include "libfiber/ring/ring_rounds.hpp"

#include <climits>
#include <ctime>
#include <utility>

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "actors/ring/ring_attempt.hpp"
#include "libfiber/session/cpu_quota.hpp"

namespace fiber::detail {
namespace {

/// How long a member looks before it sleeps; longer than it takes to wake one.
constexpr std::chrono::microseconds looking_time{50};
/// How long it sleeps before it looks for a loss.
constexpr std::chrono::milliseconds sleeping_time{10};
/// A last resort, as long as Gloo's timeout.
constexpr std::chrono::hours longest_round{24};

constexpr std::size_t page_bytes = 4096;

void pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

} // namespace

RingRounds::RingRounds(std::byte* memory, std::size_t rank, std::size_t members,
                       LookForLoss look)
  : memory_(memory), rank_(rank), members_(members),
    box_bytes_((memory_bytes / (2 * members) - 1) / page_bytes * page_bytes),
    look_(std::move(look)), crowded_(members > usable_cores()) {
  static_assert(sizeof(Head) <= page_bytes);
}

RingRounds::~RingRounds() {
  head().left.store(1); // A member that misses the wake-up sees it after sleeping_time.
  ::syscall(SYS_futex, &head().round, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

std::byte* RingRounds::box_at(std::size_t rank, std::uint32_t round) {
  return memory_ + page_bytes + (2 * rank + round % 2) * box_bytes_;
}

/// Acquires what the members have put into their boxes.
bool RingRounds::complete() {
  return head().round.load(std::memory_order_acquire) != round_;
}

void RingRounds::exchange() {
  const auto all = static_cast<std::uint32_t>(members_) * (round_ + 1);
  // Releases the own box to the last to arrive, which acquires those of all and releases
  // them with `round`.
  if (head().arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == all) {
    // Sequentially consistent, as park() is: either that sees the round, or this sees
    // that somebody sleeps.
    head().round.store(round_ + 1);
    if (head().parked.load() != 0)
      ::syscall(SYS_futex, &head().round, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
  } else {
    wait();
  }
  ++round_;
}

void RingRounds::wait() {
  const auto begin = Clock::now();
  do {
    if (complete())
      return;
    if (crowded_) { // The one that it waits for may need this processor.
      ::sched_yield();
      continue;
    }
    for (int i = 0; i < 16; ++i) {
      pause();
      if (complete())
        return;
    }
  } while (Clock::now() - begin < looking_time);
  park(begin);
}

void RingRounds::park(Clock::time_point begin) {
  const timespec limit{.tv_sec = 0,
                       .tv_nsec = std::chrono::nanoseconds(sleeping_time).count()};
  std::optional<std::string> loss;
  head().parked.fetch_add(1);
  while (head().round.load() == round_ && !loss) {
    if (head().left.load() != 0)
      loss = "a member has left";
    else if (Clock::now() - begin > longest_round)
      loss = "a member has not come for 24 hours";
    else
      loss = look_();
    if (!loss)
      ::syscall(SYS_futex, &head().round, FUTEX_WAIT, round_, &limit, nullptr, 0);
  }
  head().parked.fetch_sub(1);
  // A member may have left after it has completed the round.
  if (loss && !complete())
    throw actors::RingBroken(*loss);
}

} // namespace fiber::detail
