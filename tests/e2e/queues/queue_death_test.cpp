// SPDX-License-Identifier: Apache-2.0
// The promise: what was put into a queue is got once, in order, whichever process dies;
// nobody waits for what can't come, and nobody runs away.
#include <algorithm>
#include <csignal>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

#include <fiber/fiber.hpp>
#include <gtest/gtest.h>

#include "tests/e2e/queues/queue_ends.hpp"
#include "tests/e2e/support/modes.hpp"

namespace fiber::e2e {
namespace {

using namespace std::chrono_literals;
using fiber::Process; // Not that of processes.hpp.

/// With processes that can be killed.
class QueueOfJobs : public EveryMode {};

TEST_P(QueueOfJobs, shares_items_among_all_who_want_them) {
  constexpr int producers = 4, each = 2000;
  Numbers queue;
  SimpleQueue<std::vector<int>> results;
  std::vector<Process> receivers;
  for (int i = 0; i < 3; ++i)
    receivers.emplace_back(
      [](Numbers queue, SimpleQueue<std::vector<int>> to) { to.put(consume(queue)); },
      queue, results);
  std::vector<Process> senders;
  for (int i = 0; i < producers; ++i)
    senders.emplace_back(produce, queue, i * each, (i + 1) * each);
  for (auto& process : receivers)
    process.start();
  for (auto& process : senders)
    process.start();
  for (auto& process : senders)
    process.join();
  for (int i = 0; i < 3; ++i)
    queue.put(-1);
  std::vector<int> got;
  for (int i = 0; i < 3; ++i) {
    auto part = results.get();
    EXPECT_TRUE(in_order(part, each));
    got.insert(got.end(), part.begin(), part.end());
  }
  std::sort(got.begin(), got.end());
  EXPECT_EQ(got, range(0, producers * each));
}

TEST_P(QueueOfJobs, goes_on_with_the_others_when_one_of_them_turns_slow) {
  Numbers queue;
  auto slow = async(
    [](Numbers queue) {
      std::vector<int> all;
      while (all.size() < 5000)
        all.push_back(queue.get());
      note_and_wait("slow");
      for (int i : consume(queue))
        all.push_back(i);
      return all;
    },
    queue);
  auto quick = async(consume, queue);
  auto items = 0;
  for (auto last = false; !last; items += 1000) {
    last = !notes("slow").empty();
    EXPECT_TRUE(wait_until([&] { return queue.empty(); }));
    produce(queue, items, items + 1000);
  }
  queue.put(-1);
  auto got = quick.get();
  note("go", "");
  queue.put(-1);
  auto rest = slow.get();
  EXPECT_TRUE(in_order(got, items));
  EXPECT_TRUE(in_order(rest, items));
  got.insert(got.end(), rest.begin(), rest.end());
  std::sort(got.begin(), got.end());
  EXPECT_EQ(got, range(0, items));
}

TEST_P(QueueOfJobs, loses_nothing_when_consumers_are_killed) {
  constexpr int items = 3000;
  Numbers queue;
  // Notes what it has got: each one once, but the last one of a process that is killed.
  auto consumer = [](Numbers queue) {
    for (int i = queue.get(); i >= 0; i = queue.get())
      note("got", std::to_string(i));
  };
  std::thread producer([&] { produce(queue, 0, items); });
  int kills = 0;
  auto all_noted = [&] { return notes("got").size() + 100 >= items; };
  while (!all_noted() && kills < 20) {
    Process process(consumer, queue);
    process.start();
    auto before = notes("got").size();
    EXPECT_TRUE(wait_until([&] { return notes("got").size() >= before + 50; }));
    process.kill();
    process.join();
    ++kills;
  }
  producer.join();
  queue.put(-1);
  consumer(queue);
  std::map<int, int> count;
  for (auto& line : notes("got"))
    ++count[std::stoi(line)];
  auto missing = 0;
  for (int i = 0; i < items; ++i) {
    EXPECT_LE(count[i], 1) << i;
    missing += count[i] == 0 ? 1 : 0;
  }
  EXPECT_GT(kills, 0);
  // One that get() had returned, and that was not yet noted, is its consumer's.
  EXPECT_LE(missing, kills);
}

TEST_P(QueueOfJobs, keeps_the_beginning_of_what_a_killed_producer_has_put) {
  Numbers queue;
  Process process(
    [](Numbers queue) {
      for (int i = 0;; ++i) {
        queue.put(i);
        if (i == 1000)
          note("enough", "");
      }
    },
    queue);
  process.start();
  await_note("enough");
  process.kill();
  process.join();
  int next = 0;
  for (auto i = queue.get(100ms); i; i = queue.get(100ms))
    ASSERT_EQ(*i, next++);
  EXPECT_GE(next, 1001);
}

/// Kills itself behind its last put().
template <class Queue>
void put_and_die(Queue queue, int items) {
  for (int i = 0; i < items; ++i)
    queue.put(i);
  kill(getpid(), SIGKILL);
}

TEST_P(QueueOfJobs, has_all_that_a_process_has_put_that_kills_itself) {
  constexpr int items = 20000;
  Numbers queue;
  Process process(put_and_die<Numbers>, queue, items);
  process.start();
  process.join();
  EXPECT_EQ(process.exit_code(), -SIGKILL);
  queue.put(-1);
  EXPECT_EQ(consume(queue), range(0, items));
}

TEST_P(QueueOfJobs, has_all_that_was_put_for_room_that_was_lent) {
  constexpr int items = 20000;
  Queue<int> queue(100);
  Process process(put_and_die<Queue<int>>, queue, items);
  process.start();
  for (int i = 0; i < items; ++i)
    ASSERT_EQ(queue.get(), i);
  process.join();
  EXPECT_EQ(queue.size(), 0U);
}

TEST_P(QueueOfJobs, gives_again_just_what_a_dead_consumer_had_not_got) {
  constexpr int items = 5000;
  Numbers queue;
  produce(queue, 0, items);
  for (int from = 0; from < 2000; from += 500) {
    Process process(
      [](Numbers queue, int from) {
        for (int i = from; i < from + 500; ++i)
          if (queue.get() != i)
            return;
        kill(getpid(), SIGKILL);
      },
      queue, from);
    process.start();
    process.join();
    EXPECT_EQ(process.exit_code(), -SIGKILL);
  }
  queue.put(-1);
  EXPECT_EQ(consume(queue), range(2000, items));
}

TEST_P(QueueOfJobs, lends_no_room_for_good) {
  Queue<int> queue(1000);
  SimpleQueue<bool> done;
  auto put_hundred = [](Queue<int> queue, SimpleQueue<bool> done) {
    for (int i = 0; i < 100; ++i)
      queue.put(i);
    done.put(true);
    note_and_wait("end"); // With room for more.
  };
  Process process(put_hundred, queue, done);
  process.start();
  done.get();
  for (int i = 100; i < 1000; ++i)
    ASSERT_TRUE(queue.put(i, deadline)) << i;
  EXPECT_FALSE(queue.put(1000, 20ms));
  EXPECT_FALSE(queue.put(1000, 0ms));
  for (int i = 0; i < 1000; ++i)
    ASSERT_EQ(queue.get(), i);
  process.kill();
}

TEST_P(QueueOfJobs, ends_though_room_was_lent) {
  Queue<int> queue(1000);
  auto put_until_closed = [](Queue<int> queue) {
    int last = 0;
    try {
      for (;; ++last)
        queue.put(last);
    } catch (const Closed&) {
    }
    return last;
  };
  auto putting = async(put_until_closed, queue);
  int next = 0;
  for (; next < 5000; ++next)
    ASSERT_EQ(queue.get(), next);
  queue.close();
  try {
    for (;; ++next)
      ASSERT_EQ(queue.get(), next);
  } catch (const Closed&) {
  }
  EXPECT_EQ(putting.get(), next);
}

TEST_P(QueueOfJobs, has_room_again_for_what_was_got_and_not_told) {
  Queue<int> queue(50);
  Process consumer(
    [](Queue<int> queue) {
      for (int i = 0; i < 130; ++i)
        queue.get();
      note_and_wait("got");
    },
    queue);
  consumer.start();
  for (int i = 0; i < 180; ++i)
    ASSERT_TRUE(queue.put(i, deadline)) << i;
  await_note("got");
  EXPECT_EQ(queue.size(), 50U);
  EXPECT_FALSE(queue.put(180, 20ms));
  consumer.kill();
  consumer.join();
  for (int i = 130; i < 180; ++i)
    ASSERT_EQ(queue.get(), i);
}

TEST_P(QueueOfJobs, wakes_everybody_when_its_home_is_killed) {
  SimpleQueue<Numbers> way;
  Process maker(
    [](SimpleQueue<Numbers> out) {
      Numbers mine;
      out.put(mine);
      note_and_wait("home");
    },
    way);
  maker.start();
  auto queue = way.get();
  auto waiter = async(
    [](Numbers queue) {
      note("waits", "");
      try {
        queue.get();
      } catch (const Closed&) {
        return true;
      }
      return false;
    },
    queue);
  await_note("waits");
  std::thread killer([&] {
    EXPECT_EQ(queue.get(10ms), std::nullopt);
    kill(static_cast<pid_t>(noted("home")), SIGKILL);
  });
  EXPECT_THROW(queue.get(), Closed);
  killer.join();
  EXPECT_TRUE(waiter.get());
  EXPECT_THROW(queue.put(1), Closed);
}

TEST_P(QueueOfJobs, gives_what_a_stopped_consumer_asked_for_to_it_when_it_goes_on) {
  Numbers queue;
  auto waiter = async(
    [](Numbers queue) {
      note("waits", std::to_string(getpid()));
      return queue.get();
    },
    queue);
  auto pid = static_cast<pid_t>(noted("waits"));
  kill(pid, SIGSTOP);
  ASSERT_TRUE(wait_until([&] { return is_stopped(pid); }));
  queue.put(5);
  kill(pid, SIGCONT);
  EXPECT_EQ(waiter.get(), 5);
}

TEST_P(QueueOfJobs, does_not_let_a_producer_run_away) {
  SimpleQueue<std::string> queue;
  Process process(
    [](SimpleQueue<std::string> queue) {
      for (;;) {
        queue.put(std::string(10'000'000, 'x'));
        note("put", "");
      }
    },
    queue);
  process.start();
  // 256 MiB wait here; one more is under way.
  ASSERT_TRUE(wait_until([&] { return notes("put").size() >= 26; }));
  EXPECT_EQ(queue.get().size(), 10'000'000U);
  EXPECT_TRUE(wait_until([&] { return notes("put").size() >= 27; }));
  EXPECT_LE(notes("put").size(), 30U);
  process.kill();
  process.join();
}

INSTANTIATE_TEST_SUITE_P(Modes, QueueOfJobs,
                         testing::ValuesIn(std::vector<Mode>{{"local", {}},
                                                             {"tls", {.link = "tls"}}}),
                         mode_name);

} // namespace
} // namespace fiber::e2e
