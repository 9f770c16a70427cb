// SPDX-License-Identifier: Apache-2.0
// The promise: a queue joins any processes; what is put into it is got once, in order.
#include <stdexcept>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include <fiber/fiber.hpp>
#include <gtest/gtest.h>

#include "tests/e2e/queues/queue_ends.hpp"
#include "tests/e2e/support/memory.hpp"
#include "tests/e2e/support/modes.hpp"

namespace fiber::e2e {
namespace {

using namespace std::chrono_literals;
using fiber::Process; // Not that of processes.hpp.

class EveryQueue : public EveryMode {};
class QueueInJob : public EveryMode {};

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

TEST_P(EveryQueue, with_a_capacity_is_used_by_the_job_that_made_it) {
  Pool pool(2);
  auto queue = pool.apply([] {
    Queue<int> made(50);
    for (int round = 0; round < 20; ++round) {
      for (int i = 0; i < 50; ++i)
        made.put(i);
      for (int i = 0; i < 50; ++i)
        if (made.get() != i)
          throw std::runtime_error("out of order");
    }
    for (int i = 0; i < 50; ++i)
      made.put(i);
    return made;
  });
  for (int i = 0; i < 50; ++i)
    EXPECT_EQ(queue.get(), i);
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
  EXPECT_THROW((void)queue.empty(), Closed);
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
  auto before = allocated_bytes();
  for (int i = 0; i < 10000; ++i) {
    Numbers queue;
    queue.put(i);
  }
  EXPECT_TRUE(wait_until([&] { return allocated_bytes() < before + 2'000'000; }));
  Pool pool(1);
  for (int i = 0; i < 100; ++i)
    pool.map([](Numbers queue) { queue.put(1); }, std::vector<Numbers>(10));
}

TEST_P(QueueInJob, can_be_closed_by_a_task_that_is_told_to_stop) {
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
INSTANTIATE_TEST_SUITE_P(Modes, QueueInJob, testing::ValuesIn(job_modes()), mode_name);

} // namespace
} // namespace fiber::e2e
