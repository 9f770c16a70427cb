// SPDX-License-Identifier: Apache-2.0
// The promise: what a manager has is shared by all processes; when its job dies every
// caller is told, or the objects are made again and the handles go on.
#include <atomic>
#include <csignal>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

#include <fiber/fiber.hpp>
#include <gtest/gtest.h>

#include "tests/e2e/support/modes.hpp"

namespace fiber::e2e {
namespace {

using namespace std::chrono_literals;

class EveryManager : public EveryMode {};

TEST_P(EveryManager, has_dicts) {
  Manager manager;
  auto dict = manager.dict<std::string, int>();
  EXPECT_EQ(dict.get("a"), std::nullopt);
  EXPECT_THROW(dict.at("a"), RemoteError);
  dict.set("a", 1);
  dict.update({{"b", 2}, {"c", 3}});
  dict.update(std::map<std::string, int>{{"c", 4}});
  EXPECT_EQ(dict.at("c"), 4);
  EXPECT_EQ(dict.get("b"), 2);
  EXPECT_TRUE(dict.contains("a"));
  EXPECT_TRUE(dict.erase("a"));
  EXPECT_FALSE(dict.erase("a"));
  EXPECT_EQ(dict.size(), 2U);
  EXPECT_EQ(dict.keys(), (std::vector<std::string>{"b", "c"}));
  EXPECT_EQ(dict.items(), (std::vector<std::pair<std::string, int>>{{"b", 2}, {"c", 4}}));
  dict.clear();
  EXPECT_EQ(dict.size(), 0U);
}

TEST_P(EveryManager, has_lists) {
  Manager manager;
  auto list = manager.list<int>();
  list.push_back(1);
  list.extend({2, 3, 4});
  list.extend(std::vector<int>{5});
  list.insert(0, 0);
  list.insert(6, 6);
  EXPECT_THROW(list.insert(8, 1), RemoteError);
  EXPECT_EQ(list.slice(), (std::vector<int>{0, 1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(list.slice(2, 4), (std::vector<int>{2, 3}));
  EXPECT_EQ(list.slice(5, 100), (std::vector<int>{5, 6}));
  EXPECT_EQ(list.slice(9, 10), std::vector<int>());
  list.set(0, 10);
  EXPECT_EQ(list.at(0), 10);
  EXPECT_THROW(list.at(7), RemoteError);
  EXPECT_EQ(list.pop_back(), 6);
  list.erase(0);
  EXPECT_THROW(list.erase(5), RemoteError);
  EXPECT_EQ(list.size(), 5U);
  EXPECT_THROW(manager.list<int>().pop_back(), RemoteError);
}

TEST_P(EveryManager, has_values_and_arrays) {
  Manager manager;
  auto value = manager.value(1.5);
  value.set(2.5);
  EXPECT_EQ(value.get(), 2.5);
  EXPECT_EQ(value.apply([](double& v, double by) { return v *= by; }, 2.0), 5.0);
  auto text = manager.value("text");
  EXPECT_EQ(text.get(), "text");
  auto array = manager.array<int>(4);
  EXPECT_EQ(array.size(), 4U);
  array.set(1, 7);
  array.assign(2, std::vector<int>{8, 9});
  EXPECT_THROW(array.assign(3, std::vector<int>{1, 2}), RemoteError);
  EXPECT_EQ(array.slice(), (std::vector<int>{0, 7, 8, 9}));
  EXPECT_EQ(array.at(3), 9);
  EXPECT_THROW(array.at(4), RemoteError);
}

TEST_P(EveryManager, has_name_spaces) {
  Manager manager;
  auto names = manager.name_space();
  names.set("x", 10);
  names.set("y", std::string("text"));
  names.set("z", "literal");
  EXPECT_EQ(names.get<int>("x"), 10);
  EXPECT_EQ(names.get<std::string>("y"), "text");
  EXPECT_EQ(names.get<std::string>("z"), "literal");
  EXPECT_THROW(names.get<int>("w"), RemoteError);
  try {
    names.get<double>("x");
    FAIL() << "nothing was thrown";
  } catch (const RemoteError& error) {
    EXPECT_NE(std::string(error.what()).find("'x' is a int, and a double was asked for"),
              std::string::npos)
      << error.what();
  }
  EXPECT_TRUE(names.erase("x"));
  EXPECT_FALSE(names.erase("x"));
}

TEST_P(EveryManager, has_queues) {
  Manager manager;
  auto queue = manager.queue<int>(2);
  queue.put(1);
  queue.put(2);
  EXPECT_FALSE(queue.put(3, 1ms));
  Pool pool(1);
  EXPECT_EQ(pool.apply([](Queue<int> from) { return from.get() + from.get(); }, queue),
            3);
  EXPECT_THROW(manager.queue<int>(0), ConfigError);
}

TEST_P(EveryManager, has_locks_and_their_kin) {
  Manager manager;
  auto lock = manager.lock();
  EXPECT_TRUE(lock.try_lock());
  EXPECT_FALSE(manager.lock() == lock);
  lock.unlock();
  auto rlock = manager.rlock();
  rlock.lock();
  rlock.lock();
  auto semaphore = manager.semaphore(1);
  EXPECT_TRUE(semaphore.try_acquire());
  EXPECT_FALSE(semaphore.try_acquire());
  EXPECT_THROW(manager.bounded_semaphore(1).release(), Error);
  auto event = manager.event();
  event.set();
  EXPECT_TRUE(event.wait(0s));
  auto condition = manager.condition();
  condition.lock();
  EXPECT_FALSE(condition.wait(1ms));
  condition.unlock();
  EXPECT_EQ(manager.barrier(1).wait(), 0U);
  EXPECT_THROW(manager.barrier(0), ConfigError);
  manager.shutdown();
  EXPECT_THROW(manager.lock(), Closed);
}

TEST_P(EveryManager, shares_what_it_has_with_all_processes) {
  Manager manager;
  auto dict = manager.dict<int, int>();
  auto total = manager.value(0);
  Pool pool(3);
  std::vector<int> keys(60);
  for (int i = 0; i < 60; ++i)
    keys[static_cast<std::size_t>(i)] = i;
  pool.map(fiber::bind(
             [](const Dict<int, int>& to, const Value<int>& sum, int i) {
               to.set(i, 2 * i);
               sum.apply([](int& s, int by) { s += by; }, i);
             },
             dict, total),
           keys);
  EXPECT_EQ(dict.size(), 60U);
  EXPECT_EQ(dict.at(59), 118);
  EXPECT_EQ(total.get(), 59 * 60 / 2);
}

TEST_P(EveryManager, nests_containers) {
  Manager manager;
  auto outer = manager.dict<std::string, List<int>>();
  outer.set("a", manager.list<int>());
  outer.at("a").extend({1, 2});
  EXPECT_EQ(outer.at("a").slice(), (std::vector<int>{1, 2}));
}

TEST_P(EveryManager, ends_what_it_has_with_itself) {
  std::optional<Value<int>> value;
  {
    Manager manager;
    value = manager.value(1);
    EXPECT_EQ(value->get(), 1);
  }
  EXPECT_THROW(value->get(), Closed);
  EXPECT_THROW(value->set(2), Closed);
}

TEST_P(EveryManager, runs_destructors_at_its_end) {
  struct Says {
    Says() = default;
    Says(const Says&) = delete;
    Says& operator=(const Says&) = delete;
    ~Says() { note("end", ""); }
    int pid() const { return getpid(); }
  };
  Manager manager;
  auto says = manager.create<Says>();
  says.call<&Says::pid>();
  manager.shutdown();
  EXPECT_EQ(notes("end").size(), 1U);
  EXPECT_THROW(says.call<&Says::pid>(), Closed);
  EXPECT_THROW(manager.value(1), Closed);
  manager.shutdown(); // Again: no effect.
}

TEST_P(EveryManager, outlives_the_session_in_peace) {
  Manager manager;
  auto value = manager.value(1);
  value.get();
  close();
  EXPECT_THROW(value.get(), Closed);
  EXPECT_THROW(manager.value(2), Closed);
}

TEST_P(EveryManager, refuses_options_that_cant_be) {
  EXPECT_THROW(Manager(ManagerOptions{.threads = 0}), ConfigError);
  EXPECT_THROW(Manager(ManagerOptions{.resources = {.cpu = -1}}), ConfigError);
}

INSTANTIATE_TEST_SUITE_P(With, EveryManager, testing::ValuesIn(modes()), mode_name);

// -- on jobs --

/// What counts, and can be told to end.
class Worker {
public:
  int pid() const { return getpid(); }
  int count() { return ++count_; }
  void wait_for_ever() {
    note("waits", "");
    for (;;)
      pause();
  }

private:
  int count_ = 0;
};

class ManagerFault : public EveryMode {
protected:
  static void kill_job(const Ref<Worker>& worker) {
    ::kill(worker.call<&Worker::pid>(), SIGKILL);
  }
};

TEST_P(ManagerFault, tells_all_callers_that_its_job_was_lost) {
  Manager manager;
  auto worker = manager.create<Worker>();
  auto pid = worker.call<&Worker::pid>();
  auto runs = worker.async<&Worker::wait_for_ever>();
  auto waits = worker.async<&Worker::count>();
  Pool pool(1);
  auto elsewhere = pool.apply_async(
    [](Ref<Worker> of) -> std::string {
      note("asks", "");
      try {
        of.call<&Worker::count>();
      } catch (const WorkerLost& lost) {
        return std::to_string(lost.exits().front().value_or(0)) + lost.what();
      }
      return "nothing";
    },
    worker);
  await_note("waits");
  await_note("asks");
  ::kill(pid, SIGKILL);
  try {
    runs.get();
    FAIL() << "nothing was thrown";
  } catch (const WorkerLost& lost) {
    EXPECT_EQ(lost.exits(), std::vector<std::optional<int>>{-SIGKILL});
    EXPECT_NE(std::string(lost.what()).find("may have run"), std::string::npos)
      << lost.what();
  }
  EXPECT_THROW(waits.get(), WorkerLost);
  EXPECT_EQ(elsewhere.get().rfind("-9the job of the object was lost", 0), 0U)
    << elsewhere.get();
  EXPECT_THROW(worker.call<&Worker::count>(), WorkerLost); // From now on.
  EXPECT_THROW(manager.value(1), WorkerLost);
}

TEST_P(ManagerFault, makes_objects_again_and_the_handles_go_on) {
  Manager manager(ManagerOptions{.restart = Restart::permanent});
  auto worker = manager.create<Worker>();
  auto list = manager.list(std::vector<int>{1, 2});
  list.push_back(3);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(worker.call<&Worker::count>(), 1);
    auto pid = worker.call<&Worker::pid>();
    auto runs = worker.async<&Worker::wait_for_ever>();
    ::kill(pid, SIGKILL);
    EXPECT_THROW(runs.get(), WorkerLost);
    EXPECT_NE(worker.call<&Worker::pid>(), pid);
    EXPECT_EQ(list.slice(), (std::vector<int>{1, 2})); // As it was made.
  }
  Pool pool(1);
  EXPECT_EQ(pool.apply([](Ref<Worker> of) { return of.call<&Worker::count>(); }, worker),
            1);
}

TEST_P(ManagerFault, restores_before_others_call) {
  Manager manager(ManagerOptions{.restart = Restart::transient});
  auto worker = manager.create<Worker>();
  auto list = manager.list<int>();
  manager.set_restore(fiber::bind(
    [](const List<int>& to, const std::string& from) {
      to.push_back(static_cast<int>(from.size()));
      to.push_back(2);
    },
    list, std::string("four")));
  EXPECT_EQ(list.size(), 0U);
  kill_job(worker);
  std::vector<std::vector<int>> seen;
  while (seen.empty() || seen.back().empty())
    try {
      seen.push_back(list.slice());
    } catch (const WorkerLost&) {
      // It was under way.
    }
  for (auto& each : seen)
    EXPECT_TRUE(each.empty() || each == (std::vector<int>{4, 2})) << each.size();
}

TEST_P(ManagerFault, gives_up_what_cant_be_restored) {
  Manager manager(ManagerOptions{.restart = Restart::permanent, .restore = [] {
                                   throw std::runtime_error("no such file");
                                 }});
  auto worker = manager.create<Worker>();
  kill_job(worker);
  auto told = [&]() -> std::string {
    try {
      worker.call<&Worker::pid>();
    } catch (const WorkerLost&) {
      return "lost"; // It was under way.
    } catch (const RemoteError& error) {
      return error.type();
    }
    return "it answers";
  };
  EXPECT_TRUE(wait_until([&] { return told() != "lost"; }));
  EXPECT_EQ(told(), "std::runtime_error");
}

TEST_P(ManagerFault, forgets_objects_that_nobody_holds) {
  Manager manager(ManagerOptions{.restart = Restart::permanent});
  auto worker = manager.create<Worker>();
  struct Says {
    Says() { note("made", ""); }
  };
  { auto says = manager.create<Says>(); }
  auto pid = worker.call<&Worker::pid>();
  ::kill(pid, SIGKILL);
  EXPECT_TRUE(wait_until([&] {
    try {
      return worker.call<&Worker::pid>() != pid;
    } catch (const WorkerLost&) {
      return false;
    }
  }));
  EXPECT_EQ(notes("made").size(), 1U);
}

TEST_P(ManagerFault, ends_before_its_job_is_up) {
  for (int i = 0; i < 4; ++i)
    Manager();
}

TEST_P(ManagerFault, ends_though_a_call_waits_for_one_that_has_not_begun) {
  Manager manager;
  struct Says : Worker {
    ~Says() { note("end", ""); }
    void through(Ref<Worker> other) {
      note("in", "");
      try {
        other.call<&Worker::count>();
      } catch (const Closed&) {
        note("told", "");
      }
    }
  };
  auto busy = manager.create<Worker>();
  auto says = manager.create<Says>();
  SimpleQueue<int> gate;
  auto held = busy.async(
    [](Worker&, SimpleQueue<int> at) {
      note("holds", "");
      at.get();
    },
    gate);
  await_note("holds");
  auto waits = says.async<&Says::through>(busy);
  await_note("in");
  std::thread opens([&] {
    await_note("told");
    gate.put(1);
  });
  manager.shutdown();
  opens.join();
  EXPECT_EQ(notes("told").size(), 1U);
  EXPECT_EQ(notes("end").size(), 1U);
}

TEST_P(ManagerFault, survives_the_death_of_a_holder) {
  Manager manager;
  auto worker = manager.create<Worker>();
  Pool pool(PoolOptions{.workers = 1, .max_retries = 0});
  auto holder = pool.apply_async(
    [](Ref<Worker> held) {
      held.call<&Worker::count>();
      note("holds", std::to_string(getpid()));
      pause();
    },
    worker);
  await_note("holds");
  ::kill(static_cast<pid_t>(noted("holds")), SIGKILL);
  EXPECT_THROW(holder.get(), WorkerLost);
  EXPECT_EQ(worker.call<&Worker::count>(), 2);
}

TEST_P(ManagerFault, drops_what_only_a_dead_process_held) {
  struct Mortal {
    Mortal() = default;
    Mortal(const Mortal&) = delete;
    Mortal& operator=(const Mortal&) = delete;
    ~Mortal() { note("gone", ""); }
    int pid() const { return getpid(); }
  };
  Manager manager;
  auto mortal = manager.create<Mortal>();
  Pool pool(PoolOptions{.workers = 1, .max_retries = 0});
  auto holder = pool.apply_async(
    [](SimpleQueue<Ref<Mortal>> from) {
      auto held = from.get();
      held.call<&Mortal::pid>();
      note("holds", std::to_string(getpid()));
      pause();
    },
    [&] {
      SimpleQueue<Ref<Mortal>> queue;
      queue.put(mortal);
      return queue;
    }());
  await_note("holds");
  mortal = {};
  EXPECT_EQ(notes("gone").size(), 0U);
  ::kill(static_cast<pid_t>(noted("holds")), SIGKILL);
  await_note("gone");
  EXPECT_EQ(notes("gone").size(), 1U);
  EXPECT_THROW(holder.get(), WorkerLost);
}

TEST_P(ManagerFault, runs_objects_side_by_side) {
  Manager manager(ManagerOptions{.threads = 3});
  auto barrier = [](Worker&) {
    note("in", "");
    return wait_until([] { return notes("in").size() == 3; });
  };
  std::vector<Ref<Worker>> workers;
  std::vector<Future<bool>> futures;
  for (int i = 0; i < 3; ++i) {
    workers.push_back(manager.create<Worker>());
    futures.push_back(workers.back().async(barrier));
  }
  for (auto& future : futures)
    EXPECT_TRUE(future.get());
}

TEST_P(ManagerFault, is_killed_while_many_call) {
  Manager manager(ManagerOptions{.restart = Restart::permanent});
  auto worker = manager.create<Worker>();
  std::atomic<bool> over = false;
  std::atomic<int> answers = 0, losses = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      while (!over)
        try {
          worker.call<&Worker::count>();
          ++answers;
        } catch (const WorkerLost&) {
          ++losses;
        }
    });
  for (int i = 0; i < 4; ++i) {
    auto before = answers.load();
    EXPECT_TRUE(wait_until([&] { return answers > before + 100; }));
    for (auto pid : await_jobs(1))
      ::kill(pid, SIGKILL);
  }
  auto before = answers.load();
  EXPECT_TRUE(wait_until([&] { return answers > before + 100; }));
  over = true;
  for (auto& thread : threads)
    thread.join();
  EXPECT_GT(losses.load(), 0);
}

INSTANTIATE_TEST_SUITE_P(With, ManagerFault,
                         testing::Values(Mode{"local", {}}, Mode{"tls", {.link = "tls"}}),
                         mode_name);

} // namespace
} // namespace fiber::e2e
