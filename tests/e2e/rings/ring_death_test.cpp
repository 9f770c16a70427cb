// SPDX-License-Identifier: Apache-2.0
// The promise: a ring that loses a member, at whatever moment, begins again as a whole;
// nobody waits for the dead, and nothing of an attempt is left.
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

#include <gloo/barrier.h>

#include <fiber/fiber.hpp>
#include <gtest/gtest.h>

#include "tests/e2e/rings/ring_way.hpp"
#include "tests/e2e/support/fixture.hpp"

namespace fiber::e2e {
namespace {

using namespace std::chrono_literals;
constexpr std::size_t size = 4;

/// Who is to die, and in how many attempts.
struct Death {
  std::uint64_t rank = 0;
  int attempts = 1;
  bool meets(const RingMember& member) const {
    return member.rank() == rank && member.attempt() <= attempts;
  }
};

/// Dies as soon as the others have come so far that they can only be in what follows
/// their note; they hold it with `rest`.
void die_among(const Death& death, RingMember& member) {
  auto list = "attempt" + std::to_string(member.attempt());
  if (!death.meets(member)) {
    note(list, std::to_string(getpid()));
    return;
  }
  wait_until([&] { return notes(list).size() == member.size() - 1; });
  std::raise(SIGKILL);
}

int barrier(Death death, RingMember& member) {
  die_among(death, member);
  member.barrier();
  return member.attempt();
}

int large_allreduce(Death death, RingMember& member) {
  std::vector<float> values(1 << 20, 1.0F);
  if (death.meets(member)) {
    // In the middle of one, as they do nothing else.
    std::thread([] {
      wait_until([] { return notes("reducing").size() >= size; });
      std::raise(SIGKILL);
    }).detach();
  }
  note("reducing", "");
  for (int i = 0; i < 3 || (death.attempts >= member.attempt() && i < 100000); ++i)
    member.allreduce(values, Max{});
  return member.attempt();
}

int lost_by_gloo_itself(Death death, RingMember& member) {
  die_among(death, member);
  gloo::BarrierOptions options(member.gloo());
  gloo::barrier(options);
  return member.attempt();
}

int caught(Death death, RingMember& member) {
  die_among(death, member);
  try {
    member.barrier();
  } catch (const WorkerLost& error) {
    note("caught", error.what());
    throw std::runtime_error("of the function's own");
  }
  return member.attempt();
}

/// Kills who reads it, before its job joins the ring.
struct Trap {
  Death death;
  template <class Archive>
  void serialize(Archive& archive, unsigned) {
    archive& death.rank& death.attempts;
    if constexpr (Archive::is_loading::value)
      if (this_task::index() == death.rank && this_task::attempt() <= death.attempts)
        std::raise(SIGKILL);
  }
};
int trapped(const Trap&, RingMember& member) {
  member.barrier();
  return member.attempt();
}

template <auto f, class What>
auto by_way(RingWay way, const What& what, RingMember& member) {
  way.check();
  return f(what, member);
}

class RingLoses : public SessionTest, public testing::WithParamInterface<bool> {
protected:
  void SetUp() override { open(); }

  template <auto f, class What>
  static auto run(What what, int max_restarts = 3) {
    RingWay way{GetParam() ? std::uint8_t{1} : std::uint8_t{0}};
    Ring ring({.size = size, .max_restarts = max_restarts},
              fiber::bind(by_way<f, What>, way, what));
    return ring.run();
  }
  template <auto f, class What>
  static void begins_again(What what, int attempts, int max_restarts = 3) {
    EXPECT_EQ((run<f>(what, max_restarts)), std::vector<int>(size, attempts));
  }
};
INSTANTIATE_TEST_SUITE_P(By, RingLoses, testing::Bool(), [](auto& way) {
  return std::string(way.param ? "gloo" : "memory");
});

TEST_P(RingLoses, a_member_in_a_barrier) {
  begins_again<barrier>(Death{2}, 2);
}

TEST_P(RingLoses, rank_0) {
  begins_again<barrier>(Death{0}, 2);
}

TEST_P(RingLoses, a_member_in_an_allreduce) {
  begins_again<large_allreduce>(Death{1}, 2);
}

TEST_P(RingLoses, a_member_before_it_has_joined) {
  begins_again<trapped>(Trap{{3}}, 2);
}

TEST_P(RingLoses, a_member_while_others_would_never_notice) {
  Ring ring(size, [](RingMember& member) {
    auto list = "busy" + std::to_string(member.attempt());
    note(list, "");
    if (member.attempt() == 1 && member.rank() == 0) {
      wait_until([&] { return notes(list).size() == member.size(); });
      std::raise(SIGKILL);
    }
    while (member.attempt() == 1)
      pause();
    return member.attempt();
  });
  EXPECT_EQ(ring.run(), std::vector<int>(size, 2));
}

TEST_P(RingLoses, a_member_twice_in_a_row) {
  begins_again<barrier>(Death{1, 2}, 3);
}

TEST_P(RingLoses, a_member_while_others_use_gloo_themselves) {
  begins_again<lost_by_gloo_itself>(Death{1}, 2);
}

TEST_P(RingLoses, a_member_and_what_others_throw_for_that_is_no_failure) {
  begins_again<caught>(Death{1}, 2);
  for (auto& text : notes("caught"))
    EXPECT_EQ(text.find("barrier in a ring: the connection to another member broke"), 0U)
      << text;
}

TEST_P(RingLoses, members_as_often_as_it_likes_without_a_limit) {
  begins_again<barrier>(Death{1, 5}, 6, -1);
}

TEST_P(RingLoses, members_more_often_than_it_may) {
  try {
    run<barrier>(Death{3, 100}, 2);
    FAIL() << "no error";
  } catch (const WorkerLost& error) {
    EXPECT_EQ(error.index(), 3U);
    EXPECT_EQ(error.attempts(), 3);
    EXPECT_EQ(error.exits(),
              (std::vector<std::optional<int>>{-SIGKILL, -SIGKILL, -SIGKILL}));
    EXPECT_EQ(
      std::string(error.what())
        .find("Ring-1 lost a member in each of 3 attempts (rank 3: signal 9, rank 3"),
      0U)
      << error.what();
  }
  EXPECT_TRUE(jobs(mark()).empty()); // When it has thrown they are gone.
  begins_again<barrier>(Death{0, 0}, 1);
}

TEST_P(RingLoses, a_member_at_most_once_if_it_is_told_so) {
  EXPECT_THROW(run<barrier>(Death{1}, 0), WorkerLost);
}

TEST_P(RingLoses, the_member_that_crashed_and_says_where) {
  Ring ring({.size = 2, .max_restarts = 0}, [](RingMember& member) {
    if (member.rank() == 1)
      std::raise(SIGSEGV);
    member.barrier();
  });
  try {
    ring.run();
    FAIL() << "no error";
  } catch (const WorkerLost& error) {
    EXPECT_EQ(error.index(), 1U);
    EXPECT_EQ(error.exits(), std::vector<std::optional<int>>{-SIGSEGV});
    EXPECT_FALSE(error.stack().empty());
  }
}

/// Names in the folder of named shared memory that Fiber could have given.
std::set<std::string> named_memory() {
  std::set<std::string> found;
  for (auto& file : std::filesystem::directory_iterator("/dev/shm"))
    if (auto name = file.path().filename().string();
        name.find("fiber") != std::string::npos)
      found.insert(name);
  return found;
}

TEST_P(RingLoses, nothing_of_an_attempt) {
  const auto before = named_memory();
  begins_again<barrier>(Death{2}, 2);
  for (auto& pid : notes("attempt1"))
    EXPECT_FALSE(lives(std::stoi(pid)));
  EXPECT_TRUE(wait_until([&] { return jobs(mark()).empty(); }));
  EXPECT_EQ(named_memory(), before);
}

TEST_P(RingLoses, the_whole_ring_with_its_session) {
  std::exception_ptr error;
  std::thread runner([&] {
    try {
      Ring ring(size, [](RingMember& member) {
        note("up", std::to_string(getpid()));
        if (member.rank() == 0)
          std::this_thread::sleep_for(deadline);
        member.barrier();
      });
      ring.run();
    } catch (...) {
      error = std::current_exception();
    }
  });
  EXPECT_TRUE(wait_until([] { return notes("up").size() == size; }));
  close();
  runner.join();
  ASSERT_TRUE(error);
  EXPECT_THROW(std::rethrow_exception(error), Closed);
}

/// Adds up 1 .. 20, a step at a time, with a checkpoint after each.
std::vector<double> add_up(Death death, RingMember& member) {
  struct State {
    int step = 0;
    double sum = 0, trace = 1;
  };
  auto state = member.checkpoint().load<State>().value_or(State{});
  if (state.step > 0)
    note("restored", std::to_string(state.step));
  member.barrier(); // All have read the same one.
  while (state.step < 20) {
    ++state.step;
    std::vector<double> some{static_cast<double>(member.rank()) + state.step / 3.0};
    member.allreduce(some, Mean{});
    state.sum += some[0];
    state.trace = state.trace * 0.9 + state.sum * 1e-3;
    if (member.rank() == 0)
      member.checkpoint().save(state);
    if (death.meets(member) && state.step == 7 * member.attempt())
      std::raise(SIGKILL);
  }
  return {state.sum, state.trace};
}

TEST_P(RingLoses, no_work_that_it_has_saved) {
  auto expected = run<add_up>(Death{0, 0});
  EXPECT_TRUE(notes("restored").empty());
  for (std::uint64_t rank : {0, 2})
    EXPECT_EQ((run<add_up>(Death{rank, 2})), expected);
  EXPECT_GE(notes("restored").size(), 4 * size);
}

class RingIn : public SessionTest {};

TEST_F(RingIn, a_stall_beyond_the_timeout_begins_again) {
  open({.heartbeat_timeout = 500ms});
  Ring ring(size, [](RingMember& member) {
    if (member.rank() == 1 && member.attempt() == 1)
      std::raise(SIGSTOP);
    member.barrier();
    return member.attempt();
  });
  EXPECT_EQ(ring.run(), std::vector<int>(size, 2));
}

TEST_F(RingIn, one_process_has_gloo_too) {
  open({.backend = "inline"});
  Ring ring(1, [](RingMember& member) {
    gloo::BarrierOptions options(member.gloo());
    gloo::barrier(options);
    return member.gloo()->size;
  });
  EXPECT_EQ(ring.run(), std::vector<int>{1});
}

TEST_F(RingIn, chaos_computes_the_same) {
  open({.chaos = "kill=0.1,seed=3"});
  for (int i = 0; i < 5; ++i) {
    Ring ring({.size = size, .max_restarts = 10}, [](RingMember& member) {
      std::vector<std::int64_t> one{1};
      member.allreduce(one);
      return one[0];
    });
    EXPECT_EQ(ring.run(), std::vector<std::int64_t>(size, size));
  }
}

} // namespace
} // namespace fiber::e2e
