// SPDX-License-Identifier: Apache-2.0
// The promise: an item whose consumer is killed between get() and task_done() is finished
// by another one if the queue redelivers; if not, join() says that it is lost.
#include <algorithm>
#include <csignal>
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
using Tasks = Queue<int>;

/// With processes that can be killed.
class QueueWithDeaths : public EveryMode {};

void die() {
  kill(getpid(), SIGKILL);
}

/// Dies with each item that no process has taken before, and finishes all others.
void finish_or_die(Tasks queue) {
  try {
    for (;;) {
      auto item = queue.get();
      if (note("taken " + std::to_string(item), "") == 1)
        die();
      note("finished", std::to_string(item));
      queue.task_done();
    }
  } catch (const Closed&) {
  }
}

/// Has four processes work until all is done. Returns how many of them were killed.
int work_until_done(const Tasks& queue) {
  auto start = [&] {
    Process process(finish_or_die, queue);
    process.start();
    return process;
  };
  std::vector<Process> crew;
  while (crew.size() < 4)
    crew.push_back(start());
  int kills = 0;
  auto replace_dead = [&] {
    for (auto& process : crew)
      if (!process.is_alive() && process.exit_code() == -SIGKILL) {
        ++kills;
        process = start();
      }
  };
  auto done = wait_until(
    [&] {
      replace_dead();
      return queue.join(10ms);
    },
    3 * deadline);
  EXPECT_TRUE(done) << "items are not finished";
  for (auto& process : crew) {
    if (!done)
      process.kill();
    process.join(); // The queue is closed.
    kills += process.exit_code() == -SIGKILL ? 1 : 0;
  }
  return kills;
}

std::vector<int> finished() {
  std::vector<int> all;
  for (auto& line : notes("finished"))
    all.push_back(std::stoi(line));
  std::ranges::sort(all);
  return all;
}

TEST_P(QueueWithDeaths, finishes_each_item_though_a_hundred_consumers_are_killed) {
  constexpr int items = 100;
  Tasks queue({.capacity = items, .redeliver = true});
  for (int i = 0; i < items; ++i)
    queue.put(i);
  queue.close();
  EXPECT_EQ(work_until_done(queue), items);
  EXPECT_EQ(finished(), range(0, items));
}

TEST_P(QueueWithDeaths, finishes_each_item_of_a_queue_that_lives_in_another_job) {
  constexpr int items = 20;
  Manager manager;
  auto queue = manager.queue<int>({.capacity = items, .redeliver = true});
  for (int i = 0; i < items; ++i)
    queue.put(i);
  queue.close();
  EXPECT_EQ(work_until_done(queue), items);
  EXPECT_EQ(finished(), range(0, items));
}

/// What join() throws. Fails if it returns or waits.
ItemsLost lost_items(const Tasks& queue) {
  try {
    ADD_FAILURE() << (queue.join(deadline) ? "join() returned" : "join() waits");
  } catch (const ItemsLost& lost) {
    return lost;
  }
  return {"", 0, {""}};
}
/// The job of a process of that name.
bool is_job_of(const std::string& job, const Process& process) {
  return job.starts_with(process.name() + "-");
}

TEST_P(QueueWithDeaths, tells_join_of_each_of_a_hundred_killed_consumers) {
  Tasks queue(10);
  auto take_and_die = [](Tasks queue) {
    queue.get();
    die();
  };
  for (int i = 0; i < 100; ++i) {
    queue.put(i);
    Process process(take_and_die, queue);
    process.start();
    auto lost = lost_items(queue);
    ASSERT_EQ(lost.items(), 1U);
    ASSERT_EQ(lost.jobs().size(), 1U);
    EXPECT_TRUE(is_job_of(lost.jobs().front(), process)) << lost.jobs().front();
    ASSERT_TRUE(queue.join(deadline)); // Nothing is left to wait for.
  }
}

TEST_P(QueueWithDeaths, tells_join_who_has_taken_how_many_items) {
  Manager manager;
  auto queue = manager.queue<int>(100);
  for (int i = 0; i < 63; ++i)
    queue.put(i);
  Process process(
    [](Tasks queue) { // So many messages that it gets a direct link.
      for (int i = 0; i < 60; ++i) {
        queue.get();
        queue.task_done();
      }
      queue.get();
      queue.get();
      die();
    },
    queue);
  process.start();
  auto lost = lost_items(queue);
  auto job = lost.jobs().front();
  EXPECT_TRUE(is_job_of(job, process)) << job;
  EXPECT_EQ(std::string(lost.what()),
            "2 items were taken and not finished, since the consumer ended before "
            "task_done(): " +
              job +
              " (2 items); with QueueOptions::redeliver the next consumer gets such "
              "items");
  EXPECT_FALSE(queue.join(20ms)); // One is left.
  EXPECT_EQ(queue.get(deadline), 62);
  queue.task_done();
  EXPECT_TRUE(queue.join(deadline));
}

TEST_P(QueueWithDeaths, gives_up_an_item_that_kills_each_consumer) {
  Tasks queue({.capacity = 2, .redeliver = true, .max_redeliveries = 2});
  queue.put(1);
  std::vector<Process> consumers;
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(queue.join(0ms));
    auto& process = consumers.emplace_back(
      [](Tasks queue) {
        if (queue.get() == 1)
          die();
      },
      queue);
    process.start();
    process.join();
    EXPECT_EQ(process.exit_code(), -SIGKILL);
  }
  auto lost = lost_items(queue);
  auto job = lost.jobs().front();
  EXPECT_TRUE(is_job_of(job, consumers.back())) << job;
  EXPECT_EQ(std::string(lost.what()),
            "1 item was given up after 2 redeliveries: each consumer ended before "
            "task_done(), most recently " +
              job + " (1 item)");
  EXPECT_TRUE(queue.join(deadline));
}

TEST_P(QueueWithDeaths, redelivers_just_what_a_fast_consumer_has_not_finished) {
  constexpr int items = 5000, finished = 2000, taken = 7;
  Tasks queue({.capacity = items, .redeliver = true});
  for (int i = 0; i < items; ++i)
    queue.put(i);
  Process process(
    [](Tasks queue) {
      for (int i = 0; i < finished; ++i) {
        queue.get();
        queue.task_done();
      }
      for (int i = 0; i < taken; ++i)
        queue.get();
      die();
    },
    queue);
  process.start();
  process.join();
  ASSERT_EQ(process.exit_code(), -SIGKILL);
  for (int i = finished; i < items; ++i) {
    ASSERT_EQ(queue.get(deadline), i);
    queue.task_done();
  }
  EXPECT_TRUE(queue.join(0ms));
  EXPECT_THROW(queue.task_done(), Error);
}

TEST_P(QueueWithDeaths, redelivers_the_item_whose_thread_has_not_finished_it) {
  Tasks queue({.capacity = 10, .redeliver = true});
  for (int i = 0; i < 3; ++i)
    queue.put(i);
  Process process(
    [](Tasks queue) {
      auto first = queue.get();
      std::thread second([&] {
        queue.get();
        queue.task_done();
      });
      second.join();
      if (first == 0)
        die();
    },
    queue);
  process.start();
  process.join();
  ASSERT_EQ(process.exit_code(), -SIGKILL);
  EXPECT_EQ(queue.get(deadline), 0);
  EXPECT_EQ(queue.get(deadline), 2);
}

TEST_P(QueueWithDeaths, redelivers_what_a_process_has_left_that_returns) {
  Tasks queue({.capacity = 10, .redeliver = true});
  queue.put(1);
  Process process([](Tasks queue) { queue.get(); }, queue);
  process.start();
  process.join();
  EXPECT_EQ(process.exit_code(), 0);
  EXPECT_EQ(queue.get(deadline), 1);
  queue.task_done();
  EXPECT_TRUE(queue.join(deadline));
}

TEST_P(QueueWithDeaths, holds_a_closed_queue_open_for_what_may_come_back) {
  Tasks queue({.capacity = 10, .redeliver = true});
  queue.put(1);
  queue.close();
  Process process(
    [](Tasks queue) {
      queue.get();
      note_and_wait("taken");
    },
    queue);
  process.start();
  await_note("taken");
  EXPECT_EQ(queue.get(20ms), std::nullopt);
  process.kill();
  EXPECT_EQ(queue.get(deadline), 1);
  queue.task_done();
  EXPECT_THROW(queue.get(), Closed);
}

INSTANTIATE_TEST_SUITE_P(Modes, QueueWithDeaths,
                         testing::ValuesIn(std::vector<Mode>{{"local", {}},
                                                             {"tls", {.link = "tls"}}}),
                         mode_name);

class AnyQueueOptions : public EveryMode {};

TEST_P(AnyQueueOptions, are_checked) {
  EXPECT_THROW(Tasks(QueueOptions{}), ConfigError);
  EXPECT_THROW(Tasks({.capacity = 1, .max_redeliveries = -2}), ConfigError);
  Manager manager;
  EXPECT_THROW(manager.queue<int>({.capacity = 0}), ConfigError);
  EXPECT_THROW(manager.queue<int>(0), ConfigError);
}

TEST_P(AnyQueueOptions, let_a_task_finish_what_it_takes) {
  Tasks queue({.capacity = 10, .redeliver = true});
  EXPECT_THROW(queue.task_done(), Error);
  for (int i = 0; i < 10; ++i)
    queue.put(i);
  EXPECT_FALSE(queue.join(0ms));
  async(
    [](Tasks queue) {
      for (int i = 0; i < 10; ++i) {
        queue.get();
        queue.task_done();
      }
    },
    queue)
    .get();
  queue.join();
  EXPECT_THROW(queue.task_done(), Error);
}

INSTANTIATE_TEST_SUITE_P(Modes, AnyQueueOptions, testing::ValuesIn(modes()), mode_name);

} // namespace
} // namespace fiber::e2e
