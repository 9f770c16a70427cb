// SPDX-License-Identifier: Apache-2.0
// The promise: wherever a process of a supervised program is killed, nothing hangs, and
// what was saved is there as a whole.
#include <atomic>
#include <csignal>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

#include <fiber/fiber.hpp>
#include <gtest/gtest.h>

#include "tests/e2e/objects/supervised.hpp"
#include "tests/e2e/support/fixture.hpp"

namespace fiber::e2e {
namespace {

using namespace std::chrono_literals;

class SupervisorKill : public SessionTest {};

/// Saves what is large again and again, and notes what it finds when it is made again.
class Saver {
public:
  void on_restart(Checkpoint& from) {
    auto value = from.load<std::vector<long>>().value();
    auto whole = value == std::vector<long>(100'000, value.front());
    note("found", std::to_string(whole ? value.front() : -1));
    next_ = value.front() + 1;
  }
  int save_for_ever() {
    note("saves", std::to_string(getpid()));
    for (;; ++next_) {
      this_object::checkpoint().save(std::vector<long>(100'000, next_));
      note("saved", std::to_string(next_));
    }
  }

private:
  long next_ = 1;
};

TEST_F(SupervisorKill, of_who_saves_leaves_a_whole_checkpoint) {
  open();
  Supervisor supervisor(SupervisorOptions{.intensity = 100, .backoff = {.first = 0ms}});
  auto saver = supervisor.spawn<Saver>();
  for (std::size_t kills = 1; kills <= 8; ++kills) {
    auto runs = saver.async<&Saver::save_for_ever>();
    auto before = notes("saved").size();
    EXPECT_TRUE(wait_until([&] { return notes("saved").size() > before + kills; }));
    ::kill(static_cast<pid_t>(noted("saves", kills - 1)), SIGKILL);
    EXPECT_THROW(runs.get(), WorkerLost);
    EXPECT_TRUE(wait_until([&] { return notes("found").size() == kills; }));
    // Whatever save() had returned of, or the one that was on its way.
    auto saved = std::stol(notes("saved").back());
    auto found = std::stol(notes("found").back());
    EXPECT_GE(found, saved);
    EXPECT_LE(found, saved + 1);
  }
}

TEST_F(SupervisorKill, of_anything_at_any_time_ends_no_caller) {
  open();
  Supervisor supervisor(SupervisorOptions{
    .strategy = Strategy::one_for_all, .intensity = 1000, .backoff = {.first = 0ms}});
  auto inner = supervisor.supervisor(SupervisorOptions{
    .strategy = Strategy::rest_for_one, .intensity = 1, .backoff = {.first = 0ms}});
  std::vector<Ref<Counter>> children;
  for (auto* of : {&supervisor, &inner})
    for (int i = 0; i < 2; ++i)
      children.push_back(of->spawn<Counter>());
  for (int i = 0; i < 4; ++i)
    children.push_back(inner.spawn<Counter>({.resources = {.cpu = 0.5}}));
  std::atomic<bool> over = false;
  std::vector<std::atomic<int>> answers(children.size());
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < children.size(); ++i)
    threads.emplace_back([&, i] {
      while (!over)
        try {
          children[i].call<&Counter::count>();
          ++answers[i];
        } catch (const WorkerLost&) {
          // It was under way.
        }
    });
  auto all_answer = [&] {
    std::vector<int> before(answers.begin(), answers.end());
    return wait_until([&] {
      for (std::size_t i = 0; i < before.size(); ++i)
        if (answers[i] < before[i] + 3)
          return false;
      return true;
    });
  };
  for (int i = 0; i < 12; ++i) {
    EXPECT_TRUE(all_answer()) << i;
    auto there = await_jobs(6);
    for (std::size_t kills = 0; kills < 1 + static_cast<std::size_t>(i) % 3; ++kills)
      ::kill(there[(static_cast<std::size_t>(i) + 2 * kills) % there.size()], SIGKILL);
  }
  EXPECT_TRUE(all_answer());
  over = true;
  for (auto& thread : threads)
    thread.join();
  EXPECT_GT(notes("pids ").size(), children.size()); // Some were made again.
  supervisor.stop();
}

TEST_F(SupervisorKill, while_it_stops_ends_in_peace) {
  open();
  std::size_t killed = 0;
  for (int i = 0; i < 5; ++i) {
    Supervisor supervisor(SupervisorOptions{.strategy = Strategy::one_for_all});
    std::vector<Ref<Counter>> children;
    for (int n = 0; n < 3; ++n)
      children.push_back(supervisor.spawn<Counter>());
    auto there = await_jobs(3);
    std::thread stops([&] { supervisor.stop(); });
    for (auto pid : there)
      killed += lives(pid) && ::kill(pid, SIGKILL) == 0 ? 1 : 0;
    stops.join();
    for (auto& child : children)
      EXPECT_THROW(child.call<&Counter::count>(), Error);
  }
  EXPECT_GT(killed, 0u); // Some had stopped by then.
}

TEST_F(SupervisorKill, of_the_process_that_has_it_ends_its_children) {
  open();
  ::fiber::Process has(+[] {
    Supervisor supervisor;
    auto child = supervisor.spawn<Counter>({.name = "child"});
    note("child", std::to_string(find<Counter>("child")->call<&Counter::pid>()));
    pause();
  });
  has.start();
  auto child = static_cast<pid_t>(noted("child"));
  EXPECT_TRUE(lives(child));
  has.kill();
  has.join();
  EXPECT_TRUE(wait_until([&] { return !lives(child); }));
}

TEST_F(SupervisorKill, of_the_child_of_a_job_restarts_it_there) {
  open();
  Pool pool(1);
  EXPECT_EQ(pool.apply([] {
    Supervisor supervisor;
    auto child = supervisor.spawn<Counter>();
    child.call<&Counter::count>();
    child.call<&Counter::save>();
    kill_and_await(supervisor, 0, child);
    return child.call<&Counter::count>();
  }),
            2);
}

} // namespace
} // namespace fiber::e2e
