// SPDX-License-Identifier: Apache-2.0
// The promise: an object in a manager's job is called as if it were here, from any
// process, in order; and it lives as long as a handle to it.
#include <algorithm>
#include <atomic>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include <unistd.h>

#include <fiber/fiber.hpp>
#include <gtest/gtest.h>

#include "tests/e2e/support/modes.hpp"

namespace fiber::e2e {
namespace {

using namespace std::chrono_literals;

class Counter {
public:
  explicit Counter(int start = 0) : count(start) {}
  int add(int n) { return count += n; }
  int get() const { return count; }
  void fail() { throw std::out_of_range("no more"); }
  const std::string& name() const { return name_; }
  void set_name(std::string name) { name_ = std::move(name); }

  int count;

private:
  std::string name_ = "counter";
};

/// Says when it goes.
class Mortal {
public:
  Mortal() = default;
  Mortal(const Mortal&) = delete;
  Mortal& operator=(const Mortal&) = delete;
  ~Mortal() { note("gone", ""); }
  int pid() const { return getpid(); }
};

/// Knows how many there are.
class Counted {
public:
  explicit Counted(int number) : number(number) { ++alive_; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  ~Counted() { --alive_; }
  int alive() const { return alive_; }

  int number;

private:
  static inline std::atomic<int> alive_ = 0;
};

class EveryRef : public EveryMode {};
class RefInJob : public EveryMode {};

TEST_P(EveryRef, calls_an_object) {
  Manager manager;
  auto counter = manager.create<Counter>(5);
  EXPECT_EQ(counter.call<&Counter::add>(2), 7);
  EXPECT_EQ(counter.call<&Counter::get>(), 7);
  EXPECT_EQ(counter.call<&Counter::count>(), 7);
  EXPECT_EQ(counter.call<&Counter::name>(), "counter");
  counter.call<&Counter::set_name>("another");
  EXPECT_EQ(counter.call<&Counter::name>(), "another");
}

TEST_P(EveryRef, takes_a_function_to_the_object) {
  Manager manager;
  auto counter = manager.create<Counter>();
  auto twice = [](Counter& c, int n) {
    c.add(n);
    return c.add(n);
  };
  EXPECT_EQ(counter.call(twice, 4), 8);
  EXPECT_EQ(counter.call(fiber::bind([](int by, Counter& c) { return c.add(by); }, 3)),
            11);
}

TEST_P(RefInJob, lives_in_another_process) {
  Manager manager;
  EXPECT_NE(manager.create<Mortal>().call<&Mortal::pid>(), getpid());
}

TEST_P(EveryRef, runs_calls_of_one_thread_in_their_order) {
  Manager manager(ManagerOptions{.threads = 4});
  auto list = manager.create<std::vector<int>>();
  auto append = [](std::vector<int>& items, int i) { items.push_back(i); };
  std::vector<Future<void>> futures;
  for (int i = 0; i < 3000; i += 3) {
    futures.push_back(list.async(append, i));
    list.send(append, i + 1);
    futures.push_back(list.async(append, i + 2));
  }
  std::vector<int> all(3000);
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(list.call([](const std::vector<int>& items) { return items; }), all);
  for (auto& future : futures)
    future.get();
}

TEST_P(EveryRef, brings_what_a_call_throws) {
  Manager manager;
  auto counter = manager.create<Counter>();
  try {
    counter.call<&Counter::fail>();
    FAIL() << "nothing was thrown";
  } catch (const RemoteError& error) {
    EXPECT_EQ(error.type(), "std::out_of_range");
    EXPECT_STREQ(error.what(), "the call threw std::out_of_range: no more");
    EXPECT_THROW(error.rethrow_original(), std::out_of_range);
  }
  EXPECT_THROW(counter.async<&Counter::fail>().get(), RemoteError);
  counter.send<&Counter::fail>();
  EXPECT_EQ(counter.call<&Counter::get>(), 0); // It lives on.
}

/// Throws while it is packed.
struct Unpackable {
  template <class Archive>
  void serialize(Archive&, unsigned) {
    throw std::runtime_error("can't be packed");
  }
};

TEST_P(EveryRef, tells_of_a_result_that_cant_be_packed) {
  Manager manager;
  auto counter = manager.create<Counter>();
  EXPECT_THROW(counter.call([](Counter&) { return Unpackable(); }), RemoteError);
  EXPECT_EQ(counter.call<&Counter::get>(), 0);
}

TEST_P(EveryRef, throws_what_a_constructor_throws) {
  struct Picky {
    explicit Picky(int n) {
      if (n < 0)
        throw std::invalid_argument("negative");
    }
  };
  Manager manager;
  try {
    manager.create<Picky>(-1);
    FAIL() << "nothing was thrown";
  } catch (const RemoteError& error) {
    EXPECT_EQ(error.type(), "std::invalid_argument");
  }
  manager.create<Picky>(1); // The manager lives on.
}

TEST_P(EveryRef, is_a_value) {
  Manager manager;
  std::vector<Ref<Counter>> counters;
  for (int i = 0; i < 3; ++i)
    counters.push_back(manager.create<Counter>(i));
  EXPECT_EQ(counters[1], Ref<Counter>(counters[1]));
  EXPECT_NE(counters[1], counters[2]);
  Pool pool(2);
  auto added =
    pool.map(fiber::bind([](std::vector<Ref<Counter>> all,
                            std::size_t i) { return all[i].call<&Counter::add>(10); },
                         counters),
             std::vector<std::size_t>{0, 1, 2});
  EXPECT_EQ(added, (std::vector<int>{10, 11, 12}));
  SimpleQueue<Ref<Counter>> queue;
  queue.put(counters[2]);
  EXPECT_EQ(queue.get(), counters[2]);
  auto same = pool.apply([](Ref<Counter> counter) { return counter; }, counters[0]);
  EXPECT_EQ(same, counters[0]);
  EXPECT_EQ(same.call<&Counter::get>(), 10);
}

TEST_P(EveryRef, that_stands_for_nothing_says_so) {
  Ref<Counter> none;
  EXPECT_THROW(none.call<&Counter::get>(), Error);
  Pool pool(1);
  EXPECT_EQ(pool.apply([](Ref<Counter> counter) { return counter; }, none), none);
}

TEST_P(EveryRef, lives_as_long_as_a_handle_anywhere) {
  Manager manager;
  Pool pool(1);
  SimpleQueue<Ref<Mortal>> queue;
  auto mortal = manager.create<Mortal>();
  mortal.call<&Mortal::pid>();
  queue.put(mortal);
  mortal = {};
  // On its way, and then in a task only.
  pool.apply(
    [](SimpleQueue<Ref<Mortal>> from) {
      auto got = from.get();
      got.call<&Mortal::pid>();
      if (!notes("gone").empty())
        throw std::logic_error("it is gone");
    },
    queue);
  EXPECT_TRUE(wait_until([&] { // Inline ends it when somebody waits.
    return manager.value(0).get() == 0 && !notes("gone").empty();
  }));
}

TEST_P(EveryRef, is_kept_by_a_result_nobody_has_read) {
  Manager manager;
  auto maker = manager.create<std::vector<Ref<Counter>>>();
  auto counter = manager.create<Counter>(3);
  maker.call([](std::vector<Ref<Counter>>& all, Ref<Counter> one) { all.push_back(one); },
             counter);
  counter = {};
  auto future = maker.async([](std::vector<Ref<Counter>>& all) {
    auto last = all.back();
    all.clear();
    return last;
  });
  EXPECT_EQ(maker.call([](const auto& all) { return all.size(); }), 0U);
  EXPECT_EQ(future.get().call<&Counter::get>(), 3);
}

TEST_P(EveryRef, keeps_thousands_of_calls_under_way) {
  Manager manager;
  auto counter = manager.create<Counter>();
  std::vector<Future<int>> futures;
  for (int i = 0; i < 10000; ++i)
    futures.push_back(counter.async<&Counter::add>(1));
  for (int i = 0; i < 10000; ++i)
    ASSERT_EQ(futures[static_cast<std::size_t>(i)].get(), i + 1);
}

TEST_P(EveryRef, takes_large_values_there_and_back) {
  Manager manager;
  auto data = manager.create<std::vector<double>>();
  std::vector<double> large(3000000);
  std::iota(large.begin(), large.end(), 0.0);
  data.call([](std::vector<double>& d, std::vector<double> v) { d = std::move(v); },
            large);
  EXPECT_EQ(data.call([](const std::vector<double>& d) { return d; }), large);
}

TEST_P(EveryRef, makes_ten_thousand_objects_and_drops_them) {
  Manager manager;
  {
    std::vector<Ref<Counted>> all;
    for (int i = 0; i < 10000; ++i)
      all.push_back(manager.create<Counted>(i));
    for (int i = 0; i < 10000; i += 999)
      ASSERT_EQ(all[static_cast<std::size_t>(i)].call<&Counted::number>(), i);
    EXPECT_EQ(all.front().call<&Counted::alive>(), 10000);
  }
  auto last = manager.create<Counted>(1);
  EXPECT_TRUE(wait_until([&] { return last.call<&Counted::alive>() == 1; }));
}

struct Caller {
  int through(Ref<Counter> counter, int n) { return counter.call<&Counter::add>(n); }
};

TEST_P(EveryRef, calls_another_object_of_its_manager) {
  Manager manager; // Of one thread, which then waits.
  auto counter = manager.create<Counter>();
  auto caller = manager.create<Caller>();
  for (int i = 0; i < 100; ++i)
    EXPECT_EQ(caller.call<&Caller::through>(counter, 1), i + 1);
}

TEST_P(EveryRef, waits_for_what_another_object_does) {
  Manager manager;
  Queue<int> queue(1);
  auto consumer = manager.create<Counter>();
  auto producer = manager.create<Counter>();
  auto got = consumer.async([](Counter&, Queue<int> from) { return from.get(); }, queue);
  producer.call([](Counter&, Queue<int> to) { to.put(3); }, queue);
  EXPECT_EQ(got.get(), 3);
}

TEST_P(RefInJob, takes_back_a_call_that_has_not_begun) {
  Manager manager;
  SimpleQueue<int> gate;
  auto counter = manager.create<Counter>();
  auto first = counter.async(
    [](Counter& c, SimpleQueue<int> at) {
      note("begun", "");
      return c.add(at.get());
    },
    gate);
  auto second = counter.async<&Counter::add>(100);
  await_note("begun");
  second.cancel();
  EXPECT_THROW(second.get(), Cancelled);
  gate.put(1);
  EXPECT_EQ(first.get(), 1);
  EXPECT_EQ(counter.call<&Counter::get>(), 1);
}

TEST_P(EveryRef, of_another_session_is_refused) {
  Bytes bytes;
  {
    Manager manager;
    auto counter = manager.create<Counter>();
    Writer writer(bytes);
    pack(writer, counter);
    close();
  }
  EveryMode::SetUp();
  Reader reader(bytes);
  EXPECT_THROW(unpack<Ref<Counter>>(reader), Error);
}

TEST_P(EveryRef, goes_on_with_then) {
  Manager manager;
  auto counter = manager.create<Counter>(2);
  auto text =
    counter.async<&Counter::get>().then([](int n) { return std::to_string(n); });
  EXPECT_EQ(text.get(), "2");
}

INSTANTIATE_TEST_SUITE_P(With, EveryRef, testing::ValuesIn(modes()), mode_name);
INSTANTIATE_TEST_SUITE_P(With, RefInJob, testing::ValuesIn(job_modes()), mode_name);

} // namespace
} // namespace fiber::e2e
