// SPDX-License-Identifier: Apache-2.0
// The promise: a reactor always has a leader, never two, and waiting threads are woken
// whichever thread leads.

#include "wire/leadership.hpp"

#include <atomic>
#include <deque>
#include <random>
#include <semaphore>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "tests/wire/wire_fixture.hpp"
#include "wire/reactor.hpp"
#include "wire/stream_link.hpp"

using namespace fiber::wire;

namespace {

struct LeadershipTest : testing::Test {
  LeadershipTest() {
    auto [a, b] = socket_pair();
    near = adopt(reactor, std::move(a));
    far = adopt(peer_reactor, std::move(b));
    far->start(std::make_shared<Recorder>());
  }
  /// Records the thread that handles messages.
  void listen(std::function<void()> then) {
    near->start(std::make_shared<OnMessage>(
      [this, then = std::move(then)](StreamId, const fiber::Bytes&) {
        handled_on = std::this_thread::get_id();
        ++handled;
        then();
      }));
  }
  /// Waits until the waiting thread itself has handled a message: then it leads.
  void lead(Waiter& waiter) {
    do {
      far->send(1, bytes_of("next"));
      ASSERT_TRUE(waiter.wait());
    } while (handled_on != std::this_thread::get_id());
  }

  /// Sleeps for less than a short wait, and at least until `ready`.
  template <class Ready>
  static void pause(Ready ready) {
    const auto end = Waiter::Clock::now() + ShortWaits::limit / 4;
    while (!ready() || Waiter::Clock::now() < end)
      std::this_thread::yield();
  }
  /// Trains the predictor with short waits, so that the leader spins.
  void answer_quickly(Waiter& waiter) {
    constexpr int times = 20;
    std::atomic<int> waits = 0; // One wait per answer, because wakes do not accumulate.
    std::jthread peer([&] {
      for (int i = 0; i < times; ++i) {
        pause([&] { return waits == i; });
        far->send(1, bytes_of("answer"));
      }
    });
    for (; waits < times; ++waits)
      EXPECT_TRUE(waiter.wait());
  }

  /// A waiter that outlives the handlers that wake it.
  Waiter& make_waiter() { return waiters.emplace_back(reactor.leadership()); }

  std::deque<Waiter> waiters;
  Reactor reactor, peer_reactor;
  std::shared_ptr<Link> near, far;
  std::atomic<std::thread::id> handled_on{};
  std::atomic<int> handled = 0;
};

TEST_F(LeadershipTest, the_waiting_thread_reads_its_message_from_the_socket) {
  auto& waiter = make_waiter();
  listen([&] { waiter.wake(); });
  lead(waiter);
}

TEST_F(LeadershipTest, the_reactors_own_thread_leads_when_nobody_waits) {
  auto& waiter = make_waiter();
  listen([&] { waiter.wake(); });
  lead(waiter);
  const auto before = handled.load();
  far->send(1, bytes_of("unexpected"));
  EXPECT_TRUE(eventually([&] { return handled > before; }));
  EXPECT_NE(handled_on.load(), std::this_thread::get_id());
}

// Like a slot with long tasks: to hand the lead over and back for each of them costs more
// than a message saves.
TEST_F(LeadershipTest, the_own_thread_leads_on_beside_a_waiter_that_was_away_for_long) {
  auto& waiter = make_waiter();
  listen([&] { waiter.wake(); });
  lead(waiter);
  auto pass = [](auto time) {
    const auto end = Waiter::Clock::now() + time;
    return eventually([&] { return Waiter::Clock::now() >= end; });
  };
  do {
    far->send(1, bytes_of("unexpected"));
    EXPECT_TRUE(waiter.wait());
    pass(20ms);
  } while (handled_on == std::this_thread::get_id());
  // The own thread leads from now on.
  std::jthread peer([&] {
    pass(20ms); // The waiter waits by now, or the message only wakes it earlier.
    far->send(1, bytes_of("next"));
  });
  EXPECT_TRUE(waiter.wait());
  EXPECT_NE(handled_on.load(), std::this_thread::get_id());
}

TEST_F(LeadershipTest, posted_work_is_done_when_nobody_waits) {
  auto& waiter = make_waiter();
  listen([&] { waiter.wake(); });
  lead(waiter);
  std::binary_semaphore done(0);
  reactor.post([&] { done.release(); });
  EXPECT_TRUE(done.try_acquire_for(60s));
}

TEST_F(LeadershipTest, a_leader_is_woken_by_another_thread) {
  auto& waiter = make_waiter();
  listen([&] { waiter.wake(); });
  lead(waiter);
  std::jthread other([&] { waiter.wake(); });
  EXPECT_TRUE(waiter.wait());
}

TEST_F(LeadershipTest, a_wake_before_the_wait_counts) {
  auto& waiter = make_waiter();
  waiter.wake();
  EXPECT_TRUE(waiter.wait());
}

TEST_F(LeadershipTest, a_time_limit_ends_a_wait_whoever_leads) {
  auto &first = make_waiter(), &second = make_waiter();
  std::jthread other([&] { first.wait(); });
  EXPECT_FALSE(second.wait(Waiter::Clock::now() + 20ms));
  first.wake();
  other.join();
  EXPECT_FALSE(second.wait(Waiter::Clock::now() + 20ms));
}

TEST_F(LeadershipTest, a_limit_shorter_than_the_spin_ends_the_wait) {
  auto& waiter = make_waiter();
  listen([&] { waiter.wake(); });
  for (int i = 0; i < 10; ++i) {
    answer_quickly(waiter);
    const auto limit = Waiter::Clock::now() + ShortWaits::limit / 4;
    EXPECT_FALSE(waiter.wait(limit));
    EXPECT_GE(Waiter::Clock::now(), limit);
  }
}

long sleeps_of_this_thread() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nvcsw;
}

// Like the timers of a thousand links.
TEST_F(LeadershipTest, timers_of_idle_links_do_not_cause_spinning) {
  auto& waiter = make_waiter();
  listen([&] { waiter.wake(); });
  answer_quickly(waiter);
  constexpr int ticks = 200;
  std::atomic<int> seen = 0, seen_here = 0;
  std::jthread ticker([&, waiting = std::this_thread::get_id()] {
    for (int i = 0; i < ticks; ++i) {
      pause([&] { return seen == i; });
      reactor.post([&, waiting] {
        seen_here += std::this_thread::get_id() == waiting;
        ++seen;
      });
    }
    reactor.post([&] { waiter.wake(); });
  });
  const auto before = sleeps_of_this_thread();
  EXPECT_TRUE(waiter.wait());
  EXPECT_GE(sleeps_of_this_thread() - before, seen_here / 4);
}

TEST_F(LeadershipTest, a_leader_that_leaves_appoints_a_waiting_thread) {
  auto &first = make_waiter(), &second = make_waiter();
  listen([&] { (handled % 2 == 1 ? first : second).wake(); });
  for (int i = 0; i < 100; ++i) {
    std::jthread a([&] { EXPECT_TRUE(first.wait()); });
    std::jthread b([&] { EXPECT_TRUE(second.wait()); });
    far->send(1, bytes_of("for the first"));
    far->send(1, bytes_of("for the second"));
  }
}

TEST_F(LeadershipTest,
       the_end_of_the_reactor_leaves_waiters_asleep_until_they_are_woken) {
  auto own = std::make_unique<Reactor>();
  Waiter leader(own->leadership()), applicant(own->leadership());
  std::atomic<int> returned = 0;
  std::jthread a([&] { returned += leader.wait(); });
  std::jthread b([&] { returned += applicant.wait(); });
  own.reset();
  EXPECT_EQ(returned, 0);
  leader.wake();
  applicant.wake();
  a.join();
  b.join();
  EXPECT_EQ(returned, 2);
}

TEST_F(LeadershipTest, no_wake_is_lost_and_no_two_lead_among_many_threads) {
  constexpr std::size_t threads = 4;
  constexpr int rounds = 2000;
  for (std::size_t i = 0; i < threads; ++i)
    make_waiter();
  std::atomic<int> at_work = 0;
  near->start(std::make_shared<OnMessage>([&](StreamId stream, const fiber::Bytes&) {
    EXPECT_EQ(++at_work, 1);
    waiters[stream].wake();
    --at_work;
  }));
  std::vector<std::jthread> all;
  for (std::size_t i = 0; i < threads; ++i)
    all.emplace_back([&, i] {
      std::mt19937 random(static_cast<unsigned>(i));
      for (int round = 0; round < rounds; ++round) {
        const auto by_link = random() % 4 != 0;
        if (by_link)
          far->send(static_cast<StreamId>(i), bytes_of("wake"));
        else
          reactor.post([this, i] { waiters[i].wake(); });
        if (random() % 8 == 0)
          std::this_thread::yield();
        ASSERT_TRUE(waiters[i].wait(Waiter::Clock::now() + 60s));
      }
    });
}

} // namespace
