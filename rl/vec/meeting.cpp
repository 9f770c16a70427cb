// SPDX-License-Identifier: Apache-2.0
#include "rl/vec/meeting.hpp"

#include <sched.h>

namespace fiber::rl::vec {
namespace meeting_point {
namespace {

using Clock = std::chrono::steady_clock;

void pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Looks until `there()`, or for `limit`.
template <class There>
bool look(std::uint64_t limit_ns, There there) {
  if (there())
    return true;
  if (limit_ns == 0)
    return false;
  const auto end = Clock::now() + std::chrono::nanoseconds(limit_ns);
  do {
    for (int i = 0; i < 16; ++i) {
      pause();
      if (there())
        return true;
    }
  } while (Clock::now() < end);
  return false;
}

/// By which a job is woken; some of many jobs have the same.
std::uint32_t bit_of(std::size_t job) {
  return std::uint32_t{1} << (job % 32);
}

/// Whether a job but `self` was last on this core.
bool shared_by_a_job(Rows& rows, std::uint32_t cpu, std::size_t self) {
  for (std::size_t job = 0; job < rows.shape().jobs; ++job)
    if (job != self && rows.door(job).cpu.load(std::memory_order_relaxed) == cpu)
      return true;
  return false;
}

/// Whether a counter that may wrap has come to `target`.
bool reached(std::uint32_t count, std::uint32_t target) {
  return static_cast<std::int32_t>(count - target) >= 0;
}

/// A missed wake-up is impossible; a memory that another process may write proves
/// nothing.
constexpr std::chrono::seconds longest_sleep{1};

} // namespace
} // namespace meeting_point

void post(Rows& rows, std::span<const std::size_t> jobs) {
  using namespace meeting_point;
  for (const auto job : jobs)
    rows.door(job).posted.fetch_add(1);
  auto& bell = rows.meeting().bell;
  bell.fetch_add(1);
  std::uint32_t parked = 0;
  for (const auto job : jobs)
    if (rows.door(job).parked.load() != 0)
      parked |= bit_of(job);
  if (parked != 0)
    wake(bell, parked);
}

void await_post(Rows& rows, std::size_t job, std::uint32_t seen) {
  using namespace meeting_point;
  auto& meeting = rows.meeting();
  auto& door = rows.door(job);
  const auto cpu = static_cast<std::uint32_t>(::sched_getcpu());
  door.cpu.store(cpu, std::memory_order_relaxed);
  const auto alone = meeting.cpu.load(std::memory_order_relaxed) != cpu &&
                     !shared_by_a_job(rows, cpu, job);
  auto posted = [&] { return door.posted.load(std::memory_order_acquire) != seen; };
  if (look(alone ? meeting.spin_ns : 0, posted))
    return;
  // Sequentially consistent, as post() is: either this sees the post, or the driver sees
  // that somebody is parked.
  door.parked.store(1);
  const auto rung = meeting.bell.load();
  if (door.posted.load() == seen)
    wait_while(meeting.bell, rung, Clock::now() + longest_sleep, bit_of(job));
  door.parked.store(0);
}

void count_rows(Rows::Meeting& meeting, std::uint32_t rows) {
  using namespace meeting_point;
  const auto count = meeting.published.fetch_add(rows) + rows;
  if (meeting.parked.load() != 0 && reached(count, meeting.target.load()) &&
      meeting.parked.exchange(0) != 0)
    wake(meeting.published);
}

void await_rows(Rows& rows, std::uint32_t seen, std::size_t missing,
                std::chrono::nanoseconds limit) {
  using namespace meeting_point;
  auto& meeting = rows.meeting();
  const auto cpu = static_cast<std::uint32_t>(::sched_getcpu());
  meeting.cpu.store(cpu, std::memory_order_relaxed);
  const auto alone = !shared_by_a_job(rows, cpu, rows.shape().jobs);
  const auto target = seen + static_cast<std::uint32_t>(missing);
  auto there = [&] {
    return reached(meeting.published.load(std::memory_order_acquire), target);
  };
  if (look(alone ? meeting.spin_ns : 0, there))
    return;
  const auto end = Clock::now() + limit;
  meeting.target.store(target);
  meeting.parked.store(1);
  for (auto now = Clock::now(); now < end; now = Clock::now()) {
    const auto count = meeting.published.load();
    if (reached(count, target))
      break;
    wait_while(meeting.published, count, end);
  }
  meeting.parked.store(0);
}

} // namespace fiber::rl::vec
