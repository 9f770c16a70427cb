// SPDX-License-Identifier: Apache-2.0
// The promise: a call of an idempotent member outlives the job that runs it, in its place
// among the others; every other call is told that it may have run.
#include <algorithm>
#include <csignal>
#include <numeric>
#include <string>
#include <vector>

#include <unistd.h>

#include <fiber/fiber.hpp>
#include <gtest/gtest.h>

#include "tests/e2e/objects/supervised.hpp"
#include "tests/e2e/support/modes.hpp"

namespace fiber::e2e {
namespace {

using namespace std::chrono_literals;

/// Its first life blocks in each call of add() with a 0.
class Series {
public:
  int pid() const { return getpid(); }
  std::size_t add(int x) {
    if (x == 0 && note("blocks", std::to_string(getpid())) == 1)
      for (;;)
        pause();
    items_.push_back(x);
    return items_.size();
  }
  std::size_t add_once(int x) { return add(x); }
  std::vector<int> items() const { return items_; }
  int die() {
    note("deaths", "");
    std::raise(SIGKILL);
    return 0;
  }
  int pop(SimpleQueue<int> from) {
    note("pops", std::to_string(getpid()));
    return from.get();
  }

private:
  std::vector<int> items_;
};

/// What may run again without being a member.
struct Sum {
  static constexpr bool idempotent = true;
  int operator()(Series& series, int more) const {
    series.add(0);
    auto items = series.items();
    return std::accumulate(items.begin(), items.end(), more);
  }
};

} // namespace
} // namespace fiber::e2e

template <>
inline constexpr bool fiber::idempotent<& fiber::e2e::Series::add> = true;
template <>
inline constexpr bool fiber::idempotent<& fiber::e2e::Series::die> = true;
template <>
inline constexpr bool fiber::idempotent<& fiber::e2e::Series::pop> = true;

namespace fiber::e2e {
namespace {

void kill_who_blocks() {
  ::kill(static_cast<pid_t>(noted("blocks")), SIGKILL);
}

class RepeatedCall : public EveryMode {};

TEST_P(RepeatedCall, is_answered_by_the_replacement) {
  Supervisor supervisor;
  auto series = supervisor.spawn<Series>();
  auto first = series.call<&Series::pid>();
  auto runs = series.async<&Series::add>(0);
  kill_who_blocks();
  EXPECT_EQ(runs.get(), 1U);
  EXPECT_NE(series.call<&Series::pid>(), first);
  EXPECT_EQ(notes("blocks").size(), 2U);
}

TEST_P(RepeatedCall, is_answered_though_its_caller_waits_in_another_job) {
  Supervisor supervisor;
  auto series = supervisor.spawn<Series>();
  Pool pool(PoolOptions{.workers = 1, .max_retries = 0});
  auto runs =
    pool.apply_async([](Ref<Series> of) { return of.call<&Series::add>(0); }, series);
  kill_who_blocks();
  EXPECT_EQ(runs.get(), 1U);
}

TEST_P(RepeatedCall, may_be_of_a_function_object) {
  Supervisor supervisor;
  auto series = supervisor.spawn<Series>();
  auto runs = series.async(Sum{}, 5);
  kill_who_blocks();
  EXPECT_EQ(runs.get(), 5);
}

TEST_P(RepeatedCall, has_its_arguments_again_and_handles_among_them) {
  Supervisor supervisor;
  auto series = supervisor.spawn<Series>();
  SimpleQueue<int> queue;
  auto runs = series.async<&Series::pop>(queue);
  ::kill(static_cast<pid_t>(noted("pops")), SIGKILL);
  EXPECT_NE(noted("pops", 1), -1);
  queue.put(7);
  EXPECT_EQ(runs.get(), 7);
}

TEST_P(RepeatedCall, keeps_its_place_and_others_are_told) {
  Supervisor supervisor;
  auto series = supervisor.spawn<Series>();
  std::vector<Future<std::size_t>> again, once;
  for (int i = 0; i < 20; ++i) {
    again.push_back(series.async<&Series::add>(i));
    if (i < 10)
      once.push_back(series.async<&Series::add_once>(100 + i));
    series.send<&Series::add>(200 + i); // A send may not, whatever it is of.
    if (i == 9)
      kill_who_blocks();
  }
  for (std::size_t i = 0; i < again.size(); ++i)
    EXPECT_GT(again[i].get(), i);
  for (auto& each : once)
    EXPECT_NE(why([&] { each.get(); }).find("may have run"), std::string::npos);
  // What was sent after the kill may have come to the one object or the other.
  auto items = series.call<&Series::items>();
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(std::ranges::count(items, 100 + i), 0);
    EXPECT_EQ(std::ranges::count(items, 200 + i), 0);
    EXPECT_LE(std::ranges::count(items, 210 + i), 1);
  }
  std::erase_if(items, [](int x) { return x >= 100; });
  std::vector<int> in_order(20);
  std::iota(in_order.begin(), in_order.end(), 0);
  EXPECT_EQ(items, in_order);
}

TEST_P(RepeatedCall, runs_before_what_was_called_after_the_loss) {
  Supervisor supervisor;
  auto series = supervisor.spawn<Series>();
  auto runs = series.async<&Series::add>(0);
  auto behind = series.async<&Series::add>(1);
  kill_who_blocks();
  // That one is told, or runs in the next life: then behind the others.
  auto items = series.async<&Series::items>();
  EXPECT_EQ(runs.get(), 1U);
  EXPECT_EQ(behind.get(), 2U);
  std::vector<int> expected{0, 1};
  auto told = why([&] { EXPECT_EQ(items.get(), expected); });
  EXPECT_TRUE(told.empty() || told.find("may have run") != told.npos) << told;
}

TEST_P(RepeatedCall, waits_through_several_lives) {
  Supervisor supervisor(SupervisorOptions{.intensity = 10, .backoff = {.first = 1ms}});
  auto series = supervisor.spawn<Series>();
  SimpleQueue<int> queue;
  auto runs = series.async<&Series::pop>(queue);
  for (std::size_t lives = 0; lives < 4; ++lives)
    ::kill(static_cast<pid_t>(noted("pops", lives)), SIGKILL);
  EXPECT_NE(noted("pops", 4), -1);
  queue.put(7);
  EXPECT_EQ(runs.get(), 7);
  EXPECT_EQ(notes("pops").size(), 5U);
}

TEST_P(RepeatedCall, that_kills_each_life_ends_with_the_supervisor) {
  Supervisor supervisor(
    SupervisorOptions{.intensity = 3, .period = 1h, .backoff = {.first = 1ms}});
  auto series = supervisor.spawn<Series>({.name = "series"});
  auto told = why([&] { series.call<&Series::die>(); });
  EXPECT_NE(told.find("child \"series\""), std::string::npos) << told;
  EXPECT_NE(told.find("killed by SIGKILL"), std::string::npos) << told;
  EXPECT_EQ(notes("deaths").size(), 4U);
}

TEST_P(RepeatedCall, of_a_temporary_child_is_lost_with_it) {
  Supervisor supervisor;
  auto series = supervisor.spawn<Series>({.restart = Restart::temporary});
  EXPECT_THROW(series.call<&Series::die>(), WorkerLost);
  EXPECT_EQ(notes("deaths").size(), 1U);
}

TEST_P(RepeatedCall, that_may_have_run_is_not_called_cancelled) {
  Supervisor supervisor(SupervisorOptions{.backoff = {.first = 1h, .most = 1h}});
  auto series = supervisor.spawn<Series>();
  ::kill(series.call<&Series::pid>(), SIGKILL);
  SimpleQueue<int> queue;
  auto runs = series.async<&Series::pop>(queue);
  ::kill(static_cast<pid_t>(noted("pops")), SIGKILL);
  EXPECT_TRUE(wait_until([&] { return !supervisor.children()[0].alive; }));
  auto waits = series.async<&Series::pop>(queue);
  runs.cancel();
  waits.cancel();
  EXPECT_THROW(runs.get(), WorkerLost);
  EXPECT_THROW(waits.get(), Cancelled);
}

TEST_P(RepeatedCall, ends_when_the_supervisor_is_stopped) {
  Supervisor supervisor(SupervisorOptions{.backoff = {.first = 1h, .most = 1h}});
  auto series = supervisor.spawn<Series>();
  ::kill(series.call<&Series::pid>(), SIGKILL);
  SimpleQueue<int> queue;
  auto runs = series.async<&Series::pop>(queue);
  ::kill(static_cast<pid_t>(noted("pops")), SIGKILL);
  EXPECT_TRUE(wait_until([&] { return !supervisor.children()[0].alive; }));
  supervisor.stop();
  EXPECT_THROW(runs.get(), Closed);
}

TEST_P(RepeatedCall, goes_on_with_a_manager_that_makes_its_objects_again) {
  Manager manager(ManagerOptions{.restart = Restart::permanent});
  auto series = manager.create<Series>();
  manager.set_restore(
    fiber::bind([](Ref<Series> of) { of.call<&Series::add>(9); }, series));
  auto runs = series.async<&Series::add>(0);
  kill_who_blocks();
  EXPECT_EQ(runs.get(), 2U); // Behind what was restored.
  EXPECT_THROW(series.call<&Series::die>(), WorkerLost);
  EXPECT_GE(notes("deaths").size(), 5U); // The sixth loss within 10 s is the last one.
}

TEST_P(RepeatedCall, is_lost_with_a_manager_that_does_not) {
  Manager manager;
  auto series = manager.create<Series>();
  auto runs = series.async<&Series::add>(0);
  kill_who_blocks();
  EXPECT_NE(why([&] { runs.get(); }).find("may have run"), std::string::npos);
  EXPECT_EQ(notes("blocks").size(), 1U);
}

INSTANTIATE_TEST_SUITE_P(With, RepeatedCall,
                         testing::Values(Mode{"local", {}}, Mode{"tls", {.link = "tls"}}),
                         mode_name);

} // namespace
} // namespace fiber::e2e
