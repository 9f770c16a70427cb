// SPDX-License-Identifier: Apache-2.0
// The promise: jobs that say much to each other do so past the driver; whatever happens
// to their link or to them, what holds of queues and pipes goes on to hold.
#include <chrono>
#include <csignal>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <sys/socket.h>
#include <unistd.h>

#include <fiber/fiber.hpp>
#include <gtest/gtest.h>

#include "libfiber/session/runtime.hpp"
#include "tests/e2e/support/modes.hpp"
#include "tests/e2e/support/peer_sockets.hpp"
#include "wire/refusal_log.hpp"

namespace fiber::e2e {
namespace {

using namespace std::chrono_literals;
using fiber::Process; // Not that of processes.hpp.
using Item = std::vector<int>;
using Items = SimpleQueue<Item>;

constexpr std::size_t item_size = 250;
constexpr std::size_t item_bytes = item_size * sizeof(int);

Item item(int i) {
  return Item(item_size, i);
}
bool told(const std::string& list) {
  return !notes(list).empty();
}

/// Items in order, slowly until "fast", then as fast as it can, `more` or until "stop".
void produce(Items queue, int more) {
  note("producer", std::to_string(getpid()));
  auto i = 0;
  for (; !told("fast"); std::this_thread::sleep_for(1ms))
    queue.put(item(i++));
  if (more > 0)
    for (auto last = i + more; i < last;)
      queue.put(item(i++));
  else
    while (i % 100 != 0 || !told("stop"))
      queue.put(item(i++));
  queue.put(item(-1));
  note("put", std::to_string(i));
}
/// How many came, in order, before the end; a negative number if they did not.
int consume(Items queue) {
  note("consumer", std::to_string(getpid()));
  for (int next = 0;; ++next) {
    auto got = queue.get();
    if (got == item(-1))
      return next;
    if (got != item(next))
      return -next - 1;
  }
}

class DirectLink : public EveryMode {
protected:
  ~DirectLink() override { note("go", ""); } // The end of those who only wait.

  /// In a job of its own.
  Items queue_elsewhere() {
    SimpleQueue<Items> way;
    Process(
      [](SimpleQueue<Items> out) {
        Items mine;
        out.put(mine);
        note_and_wait("home");
      },
      way)
      .start();
    return way.get();
  }
  static pid_t pid_of(const std::string& who) { return static_cast<pid_t>(noted(who)); }
  static bool await_links(const std::string& who, std::size_t n) {
    auto pid = pid_of(who);
    return wait_until([&] { return peer_links(pid).size() >= n; });
  }
  /// Though the jobs go on to talk to each other.
  static bool nothing_is_passed_on() {
    return wait_until([] {
      auto before = passed_on();
      std::this_thread::sleep_for(200ms);
      return passed_on().messages == before.messages;
    });
  }
  static actors::ObjectSpace::PassedOn passed_on() {
    return detail::Runtime::require()->objects()->passed_on();
  }
};

TEST_P(DirectLink, carries_what_jobs_say_to_each_other_past_the_driver) {
  constexpr int more = 20000;
  auto queue = queue_elsewhere();
  auto consumer = fiber::async(consume, queue);
  auto producer = fiber::async(produce, queue, more);
  ASSERT_TRUE(await_links("producer", 1));
  ASSERT_TRUE(await_links("consumer", 1));
  ASSERT_TRUE(await_links("home", 2));
  ASSERT_TRUE(nothing_is_passed_on()); // The links are open before they are in use.
  auto before = passed_on();
  note("fast", "");
  producer.get();
  EXPECT_EQ(consumer.get(), noted("put"));
  auto after = passed_on();
  EXPECT_LT(after.bytes - before.bytes, more * item_bytes / 20);
  EXPECT_LT(after.messages - before.messages, more / 20U);
}

TEST_P(DirectLink, that_is_cut_loses_doubles_and_reorders_nothing) {
  auto queue = queue_elsewhere();
  auto consumer = fiber::async(consume, queue);
  auto producer = fiber::async(produce, queue, 0);
  note("fast", "");
  // What the home has not read goes with the links; then what the consumer has not.
  for (auto victim : {"home", "consumer"}) {
    auto home = std::string("home") == victim;
    ASSERT_TRUE(await_links("home", 2));
    ASSERT_TRUE(nothing_is_passed_on());
    auto before = passed_on();
    auto lost = cut_peer_links(pid_of(victim), home);
    EXPECT_TRUE(!home || lost > 0);
    EXPECT_TRUE(wait_until([&] { return passed_on().bytes > before.bytes; })) << victim;
  }
  ASSERT_TRUE(nothing_is_passed_on()); // They have links again.
  note("stop", "");
  producer.get();
  EXPECT_EQ(consumer.get(), noted("put"));
}

/// Small ones until "fast". Then large ones, each reported as soon as it is put: by the
/// result, or before that by an item of a queue of the driver.
void put_and_report(Items queue, std::optional<SimpleQueue<int>> reports) {
  for (note("producer", std::to_string(getpid())); !told("fast");
       std::this_thread::sleep_for(1ms))
    queue.put(item(0));
  if (reports)
    reports->put(0);
  for (int i = 0; reports && i < 30; ++i) {
    queue.put(Item(1'000'000));
    reports->put(i);
  }
}
void put_large(Items queue) {
  queue.put(Item(1'000'000));
}
struct Putter {
  Items queue;
  void put() { put_large(queue); }
};

TEST_P(DirectLink, brings_an_item_before_anything_else_that_its_sender_says) {
  auto queue = queue_elsewhere();
  Pool pool(1);
  SimpleQueue<int> reports;
  auto last = pool.apply_async(put_and_report, queue, std::optional(reports));
  ASSERT_TRUE(await_links("producer", 1));
  note("fast", "");
  reports.get();
  while (queue.get(0s)) {
  }
  for (int i = 0; i < 30; ++i) {
    reports.get();
    ASSERT_TRUE(queue.get(0s)) << "after " << i;
  }
  last.get();
  Manager manager;
  auto putter = manager.create<Putter>(queue);
  for (int i = 0; i < 30; ++i) {
    pool.apply(put_large, queue);
    ASSERT_TRUE(queue.get(0s)) << "result " << i;
    putter.call<&Putter::put>();
    ASSERT_TRUE(queue.get(0s)) << "answer " << i;
  }
}

TEST_P(DirectLink, that_is_always_busy_holds_up_nothing_else) {
  auto queue = queue_elsewhere();
  SimpleQueue<int> reports;
  Process sender(
    [](Items queue, SimpleQueue<int> reports) {
      std::jthread busy([&](const std::stop_token& stop) {
        for (int i = 0; !stop.stop_requested(); ++i)
          queue.put(item(i));
      });
      note("producer", std::to_string(getpid()));
      for (int i = 0; !told("stop"); ++i)
        reports.put(i);
    },
    queue, reports);
  std::jthread consumer([&] {
    while (queue.get() != item(-1)) {
    }
  });
  sender.start();
  ASSERT_TRUE(await_links("producer", 1));
  for (int i = 0; i < 100; ++i)
    EXPECT_TRUE(reports.get(60s));
  note("stop", "");
  sender.join();
  queue.put(item(-1));
}

/// Puts for ever, until its deadline closes the other queue: as that passes, a promise to
/// the home of the first is open.
void put_until_deadline(Items queue, Queue<int> other) {
  note("producer", std::to_string(getpid()));
  std::stop_callback at_deadline(this_task::stop_token(), [&] {
    other.close();
    note("closed", "");
  });
  for (int i = 0; !told("closed"); ++i)
    queue.put(item(i));
}

TEST_P(DirectLink, does_not_hold_up_a_stop_callback_that_uses_a_queue) {
  auto queue = queue_elsewhere();
  Queue<int> other(1);
  std::jthread consumer([&] {
    while (queue.get() != item(-1)) {
    }
  });
  Pool pool(PoolOptions{.workers = 1, .task_timeout = 3s, .cancel_grace = 60s});
  auto task = pool.apply_async(put_until_deadline, queue, other);
  EXPECT_TRUE(await_links("producer", 1));
  EXPECT_THROW(task.get(), TimeoutError);
  EXPECT_TRUE(wait_until([] { return told("closed"); }));
  EXPECT_THROW(other.get(), Closed);
  queue.put(item(-1));
}

TEST_P(DirectLink, brings_all_that_a_killed_producer_has_put) {
  auto queue = queue_elsewhere();
  Process producer(
    [](Items queue) {
      note("producer", std::to_string(getpid()));
      for (int i = 0;; ++i) {
        queue.put(item(i));
        note("put", "");
      }
    },
    queue);
  producer.start();
  ASSERT_TRUE(await_links("producer", 1));
  auto before = notes("put").size();
  ASSERT_TRUE(wait_until([&] { return notes("put").size() > before + 500; }));
  producer.kill();
  producer.join();
  auto put = notes("put").size();
  for (std::size_t next = 0; next < put; ++next)
    ASSERT_EQ(queue.get(deadline), item(static_cast<int>(next)));
}

TEST_P(DirectLink, gives_back_what_a_killed_consumer_had_not_taken) {
  auto queue = queue_elsewhere();
  auto producer = fiber::async(produce, queue, 3000);
  Process consumer(
    [](Items queue) {
      note("consumer", std::to_string(getpid()));
      for (;;)
        note("got", std::to_string(queue.get().front()));
    },
    queue);
  consumer.start();
  ASSERT_TRUE(await_links("consumer", 1));
  ASSERT_TRUE(await_links("producer", 1));
  note("fast", "");
  auto before = notes("got").size();
  ASSERT_TRUE(wait_until([&] { return notes("got").size() > before + 100; }));
  consumer.kill();
  consumer.join();
  auto got = notes("got");
  auto last = std::stoi(got.back());
  EXPECT_EQ(got.size(), static_cast<std::size_t>(last) + 1);
  // One that get() had returned, and that was not yet noted, is its consumer's.
  auto next = queue.get().front();
  EXPECT_TRUE(next == last + 1 || next == last + 2) << next << " after " << last;
  for (auto item = queue.get(); item.front() >= 0; item = queue.get())
    ASSERT_EQ(item.front(), ++next);
  producer.get();
  EXPECT_EQ(next + 1, noted("put"));
}

bool sees_the_end_of_what_it_gets(Items queue) {
  try {
    consume(queue);
  } catch (const Closed&) {
    return true;
  }
  return false;
}
bool sees_the_end_of_where_it_puts(Items queue) {
  try {
    produce(queue, 0);
  } catch (const Closed&) {
    return true;
  }
  return false;
}

TEST_P(DirectLink, tells_both_sides_that_their_home_was_killed) {
  auto queue = queue_elsewhere();
  auto consumer = fiber::async(sees_the_end_of_what_it_gets, queue);
  auto producer = fiber::async(sees_the_end_of_where_it_puts, queue);
  note("fast", "");
  ASSERT_TRUE(await_links("consumer", 1));
  ASSERT_TRUE(await_links("producer", 1));
  kill(pid_of("home"), SIGKILL);
  EXPECT_TRUE(producer.get());
  EXPECT_TRUE(consumer.get());
}

/// The home of a pipe: gives both ends away.
void make_pipe(SimpleQueue<Connection> out) {
  {
    auto [left, right] = pipe();
    out.put(left);
    out.put(right);
  }
  note_and_wait("home");
}
/// Slowly until "fast", then as fast as it can.
void send_and_drop(SimpleQueue<Connection> way) {
  note("sender", std::to_string(getpid()));
  {
    auto end = way.get();
    auto i = 0;
    for (; !told("fast"); std::this_thread::sleep_for(1ms))
      end.send(i++);
    for (auto last = i + 3000; i < last;)
      end.send(i++);
    note("sent", std::to_string(i));
  }
  note_and_wait("dropped");
}
void send_for_ever(SimpleQueue<Connection> way) {
  note("sender", std::to_string(getpid()));
  auto end = way.get();
  for (int i = 0;; ++i) {
    end.send(i);
    note("sent", "");
  }
}
std::size_t receive_all(Connection end) {
  std::size_t next = 0;
  try {
    for (;; ++next)
      EXPECT_EQ(end.recv<int>(), static_cast<int>(next));
  } catch (const Closed&) {
    return next;
  }
}

TEST_P(DirectLink, brings_what_was_sent_through_an_end_before_it_was_dropped) {
  SimpleQueue<Connection> from_home, to_sender;
  Process(make_pipe, from_home).start();
  auto ours = from_home.get();
  to_sender.put(from_home.get());
  Process sender(send_and_drop, to_sender);
  sender.start();
  ASSERT_TRUE(await_links("sender", 1));
  std::thread go([] { note("fast", ""); });
  EXPECT_EQ(receive_all(ours), static_cast<std::size_t>(noted("sent")));
  EXPECT_TRUE(sender.is_alive());
  go.join();
}

TEST_P(DirectLink, brings_what_the_killed_holder_of_an_end_has_sent) {
  SimpleQueue<Connection> from_home, to_sender;
  Process(make_pipe, from_home).start();
  auto ours = from_home.get();
  to_sender.put(from_home.get());
  Process sender(send_for_ever, to_sender);
  sender.start();
  ASSERT_TRUE(await_links("sender", 1));
  auto before = notes("sent").size();
  ASSERT_TRUE(wait_until([&] { return notes("sent").size() > before + 500; }));
  sender.kill();
  EXPECT_GE(receive_all(ours), notes("sent").size());
}

TEST_P(DirectLink, admits_no_stranger) {
  close();
  testing::internal::CaptureStderr();
  auto config = GetParam().config;
  config.backend = "local";
  config.forward_output = true;
  config.log_level = "warn";
  open(config);
  auto queue = queue_elsewhere();
  auto producer = fiber::async(produce, queue, 100);
  ASSERT_TRUE(await_links("home", 1));
  pid_t job = 0;
  std::vector<UniqueFd> doors;
  ASSERT_TRUE(wait_until([&] { // One of the two listens.
    for (auto* who : {"home", "producer"})
      if (doors.empty())
        doors = peer_doors(job = pid_of(who));
    return !doors.empty();
  }));
  ASSERT_EQ(doors.size(), 1U);
  auto links = peer_links(pid_of("home")).size();
  constexpr int more = 18; // Of the kind whose first ones are logged in full.
  auto loud = knock(job, doors.front()), mute = knock(job, doors.front());
  ASSERT_TRUE(loud);
  ASSERT_TRUE(mute);
  std::string text(100, 'x');
  ::send(loud.get(), text.data(), text.size(), MSG_NOSIGNAL);
  EXPECT_TRUE(is_closed(loud));
  EXPECT_TRUE(is_closed(mute));
  for (int i = 0; i < more; ++i) {
    auto next = knock(job, doors.front());
    ASSERT_TRUE(next);
    ::send(next.get(), text.data(), text.size(), MSG_NOSIGNAL);
    EXPECT_TRUE(is_closed(next));
  }
  EXPECT_TRUE(wait_until([&] { return peer_links(pid_of("home")).size() == links; }));
  note("fast", "");
  EXPECT_EQ(consume(queue), noted("put"));
  producer.get(); // What its job has logged is here.
  note("go", "");
  close();
  auto said = testing::internal::GetCapturedStderr();
  auto refusals = 0;
  for (auto at = said.find(" refused "); at != std::string::npos;
       at = said.find(" refused ", at + 1))
    ++refusals;
  EXPECT_EQ(refusals, static_cast<int>(wire::RefusalLog::lines_in_full)) << said;
}

TEST_P(DirectLink, is_out_of_reach_of_another_user) {
  if (geteuid() != 0)
    GTEST_SKIP() << "only root can be another user";
  if (GetParam().config.link == "tls")
    return; // Anybody may connect by TCP, see admits_no_stranger.
  auto queue = queue_elsewhere();
  auto consumer = fiber::async(consume, queue);
  auto producer = fiber::async(produce, queue, 0);
  ASSERT_TRUE(await_links("home", 2));
  note("fast", "");
  EXPECT_TRUE(
    another_user_finds_no_door({pid_of("home"), pid_of("producer"), pid_of("consumer")}));
  note("stop", "");
  producer.get();
  EXPECT_EQ(consumer.get(), noted("put"));
}

INSTANTIATE_TEST_SUITE_P(Modes, DirectLink,
                         testing::ValuesIn(std::vector<Mode>{{"local", {}},
                                                             {"tls", {.link = "tls"}}}),
                         mode_name);

} // namespace
} // namespace fiber::e2e
