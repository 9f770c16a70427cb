// SPDX-License-Identifier: Apache-2.0
// The promise: in memory, members see what the others have shown in the same round, add
// up by rank, and never wait for a member that is gone.
#include <array>
#include <atomic>
#include <csignal>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "actors/ring/ring_attempt.hpp"
#include "libfiber/ring/ring_math.hpp"
#include "libfiber/ring/ring_memory.hpp"
#include "libfiber/ring/round_collectives.hpp"

namespace fiber::detail {
namespace {

/// Memory for one ring, whose members are threads.
class Room {
public:
  explicit Room(std::size_t members) : members_(members) {}

  RingRounds join(std::size_t rank, RingRounds::LookForLoss look = nullptr) {
    if (!look)
      look = [] { return std::nullopt; };
    return {pages_.data()->bytes.data(), rank, members_, std::move(look)};
  }
  /// Runs `f` at each member.
  void run(const std::function<void(RingRounds&)>& f) {
    std::vector<std::thread> threads;
    std::atomic<std::size_t> ended = 0;
    for (std::size_t rank = 0; rank < members_; ++rank)
      threads.emplace_back([&, rank] {
        auto rounds = join(rank);
        f(rounds);
        for (++ended; ended < members_;) // As RingLink::leave() does.
          std::this_thread::yield();
      });
    for (auto& thread : threads)
      thread.join();
  }

private:
  struct alignas(4096) Page {
    std::array<std::byte, 4096> bytes{};
  };
  const std::size_t members_;
  std::vector<Page> pages_{RingRounds::memory_bytes / sizeof(Page)};
};

/// Values whose sum depends on the order.
std::vector<float> values(std::size_t rank, std::size_t n) {
  std::vector<float> all(n);
  for (std::size_t i = 0; i < n; ++i)
    all[i] = 1e-3F * static_cast<float>((i * 7919 + rank * 104729) % 99991);
  return all;
}

std::vector<float> sum(std::size_t members, std::size_t n) {
  auto all = values(0, n);
  for (std::size_t rank = 1; rank < members; ++rank) {
    const auto theirs = values(rank, n);
    for (std::size_t i = 0; i < n; ++i)
      all[i] += theirs[i];
  }
  return all;
}

std::byte* bytes(std::vector<float>& of) {
  return reinterpret_cast<std::byte*>(of.data());
}

void check_collectives(RingRounds& rounds, std::size_t n) {
  const auto members = rounds.members(), rank = rounds.rank();
  const auto sums = sum(members, n);
  auto own = values(rank, n), some = own;
  allreduce(rounds, bytes(some), n, RingType::f32, RingOp::sum);
  EXPECT_EQ(some, sums);
  const auto part = ring_part(n, members, rank);
  std::vector<float> mine(part.n), all(n * members), theirs;
  reduce_scatter(rounds, bytes(own), n, RingType::f32, RingOp::sum, bytes(mine));
  auto first = sums.begin() + static_cast<long>(part.first);
  EXPECT_EQ(mine, std::vector<float>(first, first + static_cast<long>(part.n)));
  allgather(rounds, bytes(own), n * sizeof(float), bytes(all));
  for (std::size_t other = 0; other < members; ++other) {
    auto each = values(other, n);
    theirs.insert(theirs.end(), each.begin(), each.end());
    broadcast(rounds, bytes(some = own), n * sizeof(float), other);
    EXPECT_EQ(some, each);
  }
  EXPECT_EQ(all, theirs);
}

TEST(RingRounds, add_up_arrays_of_all_sizes_by_rank) {
  for (std::size_t members : {2, 3, 5})
    for (std::size_t n : {0, 1, 2, 7, 1000, 40'001})
      Room(members).run([n](RingRounds& rounds) { check_collectives(rounds, n); });
}

TEST(RingRounds, add_up_arrays_that_are_larger_than_the_memory) {
  constexpr auto n = RingRounds::memory_bytes / sizeof(float) + 3;
  Room(3).run([](RingRounds& rounds) {
    auto some = values(rounds.rank(), n);
    allreduce(rounds, bytes(some), n, RingType::f32, RingOp::sum);
    EXPECT_TRUE(some == sum(3, n));
  });
  Room(4).run([](RingRounds& rounds) { check_collectives(rounds, 600'001); });
}

TEST(RingRounds, hold_with_members_of_different_speed) {
  Room(4).run([](RingRounds& rounds) {
    std::minstd_rand dice(static_cast<unsigned>(rounds.rank() + 1));
    for (int i = 0; i < 60; ++i) {
      for (auto stops = dice() % (rounds.rank() * 3 + 1); stops > 0; --stops)
        std::this_thread::yield();
      rounds.own_box()[0] = static_cast<std::byte>(i + static_cast<int>(rounds.rank()));
      rounds.exchange();
      for (std::size_t other = 0; other < 4; ++other)
        ASSERT_EQ(rounds.box(other)[0],
                  static_cast<std::byte>(i + static_cast<int>(other)));
    }
  });
}

TEST(RingRounds, end_when_a_member_leaves) {
  Room room(3);
  std::thread waits([&] {
    auto rounds = room.join(0);
    EXPECT_THROW(rounds.exchange(), actors::RingBroken);
  });
  std::thread waits_too([&] {
    auto rounds = room.join(1);
    EXPECT_THROW(rounds.exchange(), actors::RingBroken);
  });
  { auto leaves = room.join(2); }
  waits.join();
  waits_too.join();
}

TEST(RingRounds, count_when_a_member_leaves_after_it_has_come) {
  for (int i = 0; i < 50; ++i) {
    Room room(2);
    std::thread comes_and_leaves([&] { room.join(1).exchange(); });
    auto rounds = room.join(0);
    EXPECT_NO_THROW(rounds.exchange());
    comes_and_leaves.join();
  }
}

TEST(RingRounds, end_when_a_member_is_lost) {
  Room room(2);
  auto rounds = room.join(0, [] { return std::optional<std::string>("rank 1 is gone"); });
  try {
    rounds.exchange();
    FAIL() << "no error";
  } catch (const actors::RingBroken& error) {
    EXPECT_STREQ(error.what(), "rank 1 is gone");
  }
}

TEST(RingMemory, notices_the_end_of_a_process_that_it_has_seen) {
  auto memory = RingMemory::make(2);
  ASSERT_TRUE(memory);
  EXPECT_FALSE(memory->sees_all()); // Rank 1 has not come.
  const auto member = fork();
  if (member == 0) {
    auto opened = RingMemory::open(memory->place(), 1, 2);
    if (opened && opened->sees_all())
      opened->rounds().exchange();
    while (opened)
      pause();
    _exit(1);
  }
  ASSERT_GT(member, 0);
  while (!memory->sees_all() && waitpid(member, nullptr, WNOHANG) == 0)
    std::this_thread::yield();
  EXPECT_NO_THROW(memory->rounds().exchange());
  ASSERT_EQ(kill(member, SIGKILL), 0);
  EXPECT_THROW(memory->rounds().exchange(), actors::RingBroken);
  waitpid(member, nullptr, 0);
}

TEST(RingMemory, is_not_what_another_machine_has_at_its_place) {
  auto memory = RingMemory::make(2), other = RingMemory::make(2);
  ASSERT_TRUE(memory && other);
  EXPECT_TRUE(RingMemory::open(memory->place(), 1, 2));
  auto place = memory->place();
  place.fd = other->place().fd;
  EXPECT_FALSE(RingMemory::open(place, 1, 2));
  place.fd = 0;
  EXPECT_FALSE(RingMemory::open(place, 1, 2));
  place.fd = -1;
  EXPECT_FALSE(RingMemory::open(place, 1, 2));
}

} // namespace
} // namespace fiber::detail
