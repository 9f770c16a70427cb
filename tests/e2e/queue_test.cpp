// SPDX-License-Identifier: Apache-2.0
// The promise: a queue joins any processes; what is put into it is got once, in order,
// whoever dies; and nobody waits for what can't come.
#include <algorithm>
#include <csignal>
#include <map>
#include <numeric>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

#include <fiber/fiber.hpp>
#include <gtest/gtest.h>

#include "tests/e2e/modes.hpp"

namespace fiber::e2e {
namespace {

using namespace std::chrono_literals;
using fiber::Process; // Not that of processes.hpp.
using Numbers = SimpleQueue<int>;

void produce(Numbers queue, int from, int to) {
  for (int i = from; i < to; ++i)
    queue.put(i);
}
/// Until it gets a negative number.
std::vector<int> consume(Numbers queue) {
  std::vector<int> all;
  for (int i = queue.get(); i >= 0; i = queue.get())
    all.push_back(i);
  return all;
}
std::vector<int> range(int from, int to) {
  std::vector<int> all(static_cast<std::size_t>(to - from));
  std::iota(all.begin(), all.end(), from);
  return all;
}
/// Whether the items of each producer, who has `each` numbers, come in its order.
bool in_order(const std::vector<int>& got, int each) {
  std::map<int, int> last;
  for (int i : got)
    if (auto [of, first] = last.try_emplace(i / each, i); !first) {
      if (of->second > i)
        return false;
      of->second = i;
    }
  return true;
}

class EveryQueue : public EveryMode {};

TEST_P(EveryQueue, gives_what_was_put_in_order) {
  Numbers queue;
  EXPECT_TRUE(queue.empty());
  produce(queue, 0, 1000);
  EXPECT_FALSE(queue.empty());
  queue.put(-1);
  EXPECT_EQ(consume(queue), range(0, 1000));
  EXPECT_TRUE(queue.empty());
}

TEST_P(EveryQueue, joins_a_task_with_the_driver) {
  Numbers to, from;
  auto task = async(
    [](Numbers to, Numbers from) {
      for (int i = to.get(); i >= 0; i = to.get())
        from.put(2 * i);
      from.put(-1);
    },
    to, from);
  produce(to, 0, 100);
  to.put(-1);
  task.get();
  auto doubled = range(0, 100);
  for (auto& i : doubled)
    i *= 2;
  EXPECT_EQ(consume(from), doubled);
}

TEST_P(EveryQueue, keeps_what_a_process_has_put_that_has_ended) {
  Numbers queue;
  Process process(produce, queue, 0, 10000);
  process.start();
  process.join(); // Before anybody has got anything.
  EXPECT_EQ(process.exit_code(), 0);
  queue.put(-1);
  EXPECT_EQ(consume(queue), range(0, 10000));
}

TEST_P(EveryQueue, travels_bound_in_containers_and_in_results) {
  std::vector<Numbers> queues(3);
  Pool pool(1);
  pool.map(
    fiber::bind([](std::vector<Numbers> queues, int i) { queues[i % 3].put(i); }, queues),
    range(0, 6));
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(queues[i].get(), i);
    EXPECT_EQ(queues[i].get(), i + 3);
  }
  auto same = pool.apply([](Numbers queue) { return queue; }, queues[1]);
  EXPECT_EQ(same, queues[1]);
  EXPECT_NE(same, queues[2]);
  same.put(7);
  EXPECT_EQ(queues[1].get(), 7);
}

/// What a program's own class may hold.
struct Mailboxes {
  SimpleQueue<int> in;
  std::vector<Queue<std::string>> out{Queue<std::string>(4)};

  template <class Archive>
  void serialize(Archive& archive, unsigned) {
    archive& in& out.at(0);
  }
};

TEST_P(EveryQueue, travels_as_a_member_of_a_class) {
  Mailboxes boxes;
  boxes.in.put(41);
  async([](const Mailboxes& of) { of.out.at(0).put(std::to_string(of.in.get() + 1)); },
        boxes)
    .get();
  EXPECT_EQ(boxes.out.at(0).get(), "42");
}

TEST_P(EveryQueue, lives_in_the_job_that_made_it) {
  Pool pool(1);
  auto queue = pool.apply([] {
    Numbers made;
    made.put(1);
    return made;
  });
  EXPECT_EQ(queue.get(), 1);
  queue.put(2);
  EXPECT_EQ(pool.apply([](Numbers queue) { return queue.get(); }, queue), 2);
}

TEST_P(EveryQueue, travels_through_a_queue) {
  SimpleQueue<Numbers> queues;
  {
    Numbers inner;
    inner.put(17);
    queues.put(inner);
  }
  Pool pool(1);
  EXPECT_EQ(
    pool.apply([](SimpleQueue<Numbers> queues) { return queues.get().get(); }, queues),
    17);
}

TEST_P(EveryQueue, carries_shared_values) {
  SimpleQueue<Shared<std::string>> queue;
  queue.put(share(std::string("shared")));
  Pool pool(1);
  EXPECT_EQ(pool.apply(
              [](SimpleQueue<Shared<std::string>> queue) { return *queue.get(); }, queue),
            "shared");
}

TEST_P(EveryQueue, takes_large_items) {
  SimpleQueue<std::string> queue;
  std::string large(50'000'000, 'x');
  large.back() = 'y';
  queue.put(large);
  queue.put("small");
  Pool pool(1);
  EXPECT_EQ(pool.apply(
              [](SimpleQueue<std::string> queue) {
                auto item = queue.get();
                return std::make_pair(item.size(), item.back());
              },
              queue),
            std::make_pair(large.size(), 'y'));
  EXPECT_EQ(queue.get(), "small");
}

TEST_P(EveryQueue, waits_no_longer_than_it_is_told) {
  Numbers queue;
  EXPECT_EQ(queue.get(0ms), std::nullopt);
  EXPECT_EQ(queue.get(20ms), std::nullopt);
  Pool pool(1);
  EXPECT_TRUE(
    pool.apply([](Numbers queue) { return !queue.get(20ms).has_value(); }, queue));
  queue.put(3);
  EXPECT_EQ(queue.get(deadline), 3);
}

TEST_P(EveryQueue, with_a_capacity_takes_no_more) {
  Queue<int> queue(2);
  queue.put(1);
  EXPECT_TRUE(queue.put(2, deadline));
  EXPECT_FALSE(queue.put(3, 20ms));
  EXPECT_EQ(queue.size(), 2U);
  EXPECT_EQ(queue.get(), 1);
  EXPECT_TRUE(queue.put(4, deadline));
  EXPECT_EQ(queue.get(), 2);
  EXPECT_EQ(queue.get(), 4);
  EXPECT_THROW(Queue<int>(0), ConfigError);
}

TEST_P(EveryQueue, drains_when_it_is_closed) {
  Queue<int> queue(2);
  queue.put(1);
  queue.close();
  EXPECT_THROW(queue.put(2), Closed);
  EXPECT_THROW(queue.put(2, 1s), Closed);
  EXPECT_EQ(queue.get(), 1);
  EXPECT_THROW(queue.get(), Closed);
  EXPECT_THROW(queue.get(1s), Closed);
  queue.close();
}

TEST_P(EveryQueue, joins_when_all_items_are_done) {
  Queue<int> queue(10);
  queue.join();
  queue.put(1);
  queue.put(2);
  EXPECT_FALSE(queue.join(20ms));
  auto worker = async(
    [](Queue<int> queue) {
      for (int i = 0; i < 2; ++i) {
        queue.get();
        queue.task_done();
      }
    },
    queue);
  queue.join();
  EXPECT_TRUE(queue.join(0ms));
  EXPECT_THROW(queue.task_done(), Error);
}

TEST_P(EveryQueue, outlives_its_session_as_a_handle) {
  Numbers queue;
  queue.put(1);
  close();
  EXPECT_THROW(queue.get(), Closed);
  EXPECT_THROW(queue.put(1), Closed);
  EXPECT_THROW(queue.empty(), Closed);
  EXPECT_THROW(Numbers(), Closed);
}

TEST_P(EveryQueue, of_another_session_is_refused) {
  Numbers queue;
  close();
  open({.backend = "inline"});
  Pool pool(1);
  EXPECT_THROW(pool.apply([](Numbers queue) { queue.put(1); }, queue), Closed);
}

TEST_P(EveryQueue, leaves_nothing_behind) {
  for (int i = 0; i < 10000; ++i) {
    Numbers queue;
    queue.put(i);
  }
  Pool pool(1);
  for (int i = 0; i < 100; ++i)
    pool.map([](Numbers queue) { queue.put(1); }, std::vector<Numbers>(10));
}

TEST_P(EveryQueue, can_be_closed_by_a_task_that_is_told_to_stop) {
  if (in_process()) // There nobody can cancel while the task runs.
    return;
  Pool pool(1);
  auto task = pool.apply_async([] {
    Queue<int> queue(1);
    std::stop_callback close(this_task::stop_token(), [&] { queue.close(); });
    note("waits", "");
    try {
      queue.get();
    } catch (const Closed&) {
      note("closed", "");
    }
  });
  await_note("waits");
  task.cancel();
  await_note("closed");
}

class InlineQueue : public SessionTest {};

TEST_F(InlineQueue, does_not_wait_for_what_could_never_come) {
  open({.backend = "inline"});
  Numbers queue;
  EXPECT_THROW(queue.get(), Error);
  auto task = async([](Numbers queue) { return queue.get(); }, queue);
  EXPECT_THROW(task.get(), RemoteError);
  queue.put(1); // Neither of them has it.
  EXPECT_EQ(queue.get(), 1);
}

INSTANTIATE_TEST_SUITE_P(Modes, EveryQueue, testing::ValuesIn(modes()), mode_name);

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
