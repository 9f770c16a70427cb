// SPDX-License-Identifier: Apache-2.0
// Workers behind a network that is cut, slow or loses packets: none of them is killed by
// the test, and no connection is closed, unless it says so.
#include <algorithm>
#include <csignal>
#include <optional>
#include <thread>

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fiber/this_task.hpp>

#include "tests/e2e/fixture.hpp"
#include "tests/e2e/network.hpp"
#include "tests/e2e/pool_world.hpp"

namespace fiber::e2e {
namespace {

using namespace std::chrono_literals;
using Cut = Cable::Cut;

/// The 5th tells in its first run which connection it came by, and waits; all count
/// themselves.
std::size_t wait_5(std::size_t i) {
  note("runs", std::to_string(i));
  if (i == 5 && this_task::attempt() == 1) {
    note("ports", std::to_string(port_to_driver()));
    note_and_wait("victims");
  }
  return f(i);
}

std::size_t work_a_while(std::size_t i) {
  note("runs", std::to_string(i));
  std::this_thread::sleep_for(10ms);
  return f(i);
}

/// Whether this kernel (since Linux 6.15) lets TCP repeat what was lost at a steady pace.
/// An older one waits twice as long each time, so that a cut outlasts itself.
bool knows_tcp_rto_max() {
  constexpr int tcp_rto_max_ms = 44;
  const int second = 1000;
  UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  return ::setsockopt(socket.get(), IPPROTO_TCP, tcp_rto_max_ms, &second,
                      sizeof second) == 0;
}

class Network : public SessionTest {
protected:
  void SetUp() override {
    try {
      cable_.emplace();
    } catch (const NoNamespace& error) {
      GTEST_SKIP() << "no network of its own: " << error.what();
    }
  }
  ~Network() override { close(); } // Before the cable goes.

  void open_over_cable(std::chrono::milliseconds heartbeat_timeout = 2s,
                       std::chrono::milliseconds lease = 5s) {
    open({.heartbeat_timeout = heartbeat_timeout,
          .lease = lease,
          .link = "tls",
          .advertise_address = Cable::driver_address});
  }
  Cable& cable() { return *cable_; }

  /// The worker that has the 5th task, which waits.
  struct Victim {
    pid_t pid = 0;
    std::uint16_t port = 0;
  };
  static Victim await_victim() {
    auto pid = static_cast<pid_t>(noted("victims"));
    return {pid, static_cast<std::uint16_t>(noted("ports"))};
  }

  /// What a worker that was lost in the 5th of 60 tasks must have cost: that task, and
  /// nothing else that anybody sees.
  void expect_lost_once(Pool& pool, MapResult<std::size_t>& results,
                        const Victim& victim) {
    EXPECT_EQ(results.get(), undisturbed(60));
    EXPECT_EQ(runs("runs", 60)[5], 2u);
    EXPECT_GT(cable().counts().cut, 0u);
    auto stats = pool.stats();
    EXPECT_EQ(stats.workers_lost, 1u);
    EXPECT_EQ(stats.done, 60u);
    EXPECT_EQ(stats.failed, 0u);
    EXPECT_GE(stats.retries, 1u);
    EXPECT_TRUE(wait_until([&] { return !lives(victim.pid); }));
    expect_works(pool, 2); // Its cut lasts; the new one has a connection of its own.
    EXPECT_EQ(pool.stats().workers_lost, 1u);
  }
  /// Every task ran once, on the workers there were.
  static void expect_nothing_lost(Pool& pool, std::size_t tasks) {
    auto counts = runs("runs", tasks);
    EXPECT_EQ(std::count(counts.begin(), counts.end(), 1u),
              static_cast<std::ptrdiff_t>(tasks));
    EXPECT_EQ(pool.stats().workers_lost, 0u);
    EXPECT_EQ(pool.stats().retries, 0u);
    EXPECT_EQ(pool.stats().failed, 0u);
    expect_works(pool, 2);
  }

private:
  std::optional<Cable> cable_;
};

/// Cuts after which the driver hears no more of a worker. Towards the worker too: TCP
/// sends nothing new once its acknowledgements stay away.
class CutOff : public Network,
               public testing::WithParamInterface<std::pair<const char*, Cut>> {};

TEST_P(CutOff, loses_a_worker_whose_tasks_run_elsewhere) {
  open_over_cable();
  Pool pool(2);
  auto results = pool.map_async(wait_5, indices(60));
  auto victim = await_victim();
  cable().cut(GetParam().second, {victim.port});
  expect_lost_once(pool, results, victim);
}

INSTANTIATE_TEST_SUITE_P(
  Silently, CutOff,
  testing::Values(std::pair("both_ways", Cut::both),
                  std::pair("towards_the_driver", Cut::towards_driver),
                  std::pair("towards_the_worker", Cut::towards_worker)),
  [](auto& cut) { return std::string(cut.param.first); });

/// As wait_5, and the 5th's second run takes its worker along.
std::size_t wait_then_die_5(std::size_t i) {
  if (i == 5 && this_task::attempt() == 2)
    kill(getpid(), SIGKILL);
  return wait_5(i);
}

// The driver hears the worker all the while, the worker ends itself. Had that charged the
// task that ran, its one retry would be used up when it takes the next worker along.
TEST_F(Network, that_carries_no_data_to_a_worker_costs_it_its_lease) {
  open_over_cable();
  Pool pool(PoolOptions{.workers = 2, .max_retries = 1});
  auto results = pool.map_async(wait_then_die_5, indices(60));
  auto victim = await_victim();
  cable().cut(Cut::data_towards_worker, {victim.port});
  EXPECT_EQ(results.get(), undisturbed(60));
  EXPECT_GT(cable().counts().cut, 0u);
  EXPECT_EQ(pool.stats().workers_lost, 2u);
  EXPECT_EQ(pool.stats().failed, 0u);
  EXPECT_TRUE(wait_until([&] { return !lives(victim.pid); }));
  expect_works(pool, 2);
}

TEST_F(Network, that_is_cut_for_less_than_the_timeout_costs_nothing) {
  open_over_cable(20s, 60s);
  Pool pool(2);
  auto results = pool.map_async(wait_5, indices(60));
  auto victim = await_victim();
  cable().cut(Cut::both);
  std::this_thread::sleep_for(2s); // The cut itself, a tenth of the timeout.
  note("go", "");                  // The result can't go.
  EXPECT_FALSE(results.ready());
  cable().mend();
  EXPECT_EQ(results.get(), undisturbed(60));
  EXPECT_GT(cable().counts().cut, 0u);
  EXPECT_TRUE(lives(victim.pid));
  expect_nothing_lost(pool, 60);
}

// Nobody can end the worker meanwhile, and what it said waits in the kernel.
TEST_F(Network, that_heals_after_a_worker_was_declared_dead_brings_nothing_twice) {
  PoolWorld world(2s, Cable::driver_address);
  auto ledger = world.submit(wait_5, 60);
  auto victim = await_victim();
  cable().cut(Cut::both, {victim.port});
  ASSERT_TRUE(wait_until([&] { return ledger->results().size() == 60; }));
  EXPECT_EQ(world.stats().workers_lost, 1u);
  EXPECT_TRUE(wait_until([&] { return world.backend->withheld() == 1; }));
  note("go", "");
  EXPECT_EQ(world.stats().late, 0u);
  EXPECT_GT(cable().counts().cut, 0u);
  EXPECT_TRUE(lives(victim.pid));

  cable().mend();
  EXPECT_TRUE(wait_until([&] { return world.stats().late >= 1; }));
  EXPECT_EQ(ledger->results(), each_once(60));
  EXPECT_EQ(runs("runs", 60)[5], 2u);
  auto again = world.submit(f, 60);
  ASSERT_TRUE(wait_until([&] { return again->results().size() == 60; }));
  EXPECT_EQ(again->results(), each_once(60));
  EXPECT_EQ(world.stats().workers_lost, 1u);
  EXPECT_EQ(world.stats().failed, 0u);
}

TEST_F(Network, that_comes_and_goes_costs_nothing) {
  constexpr std::chrono::milliseconds timeout = 3s;
  const auto cut = knows_tcp_rto_max() ? timeout / 2 : timeout / 4;
  open_over_cable(timeout, 10s);
  Pool pool(2);
  auto results = pool.map_async(work_a_while, indices(3000));
  ASSERT_TRUE(wait_until([&] { return results.done() > 0; }));
  for (int times = 0; times < 10; ++times) {
    auto before = cable().counts().cut;
    cable().cut(Cut::both);
    std::this_thread::sleep_for(cut); // The fault itself, and then as long without it.
    cable().mend();
    EXPECT_GT(cable().counts().cut, before);
    std::this_thread::sleep_for(cut);
  }
  EXPECT_EQ(results.get(), undisturbed(3000));
  expect_nothing_lost(pool, 3000);
}

TEST_F(Network, that_is_slow_and_loses_packets_costs_nothing_but_time) {
  open_over_cable(10s, 60s);
  cable().delay(100ms);
  cable().lose(0.01, 1);
  Pool pool(2);
  // 40 KiB each way, so that there are packets to lose.
  auto echo = [](const std::vector<std::size_t>& numbers) {
    note("runs", std::to_string(numbers.front()));
    return numbers;
  };
  std::vector<std::vector<std::size_t>> items;
  for (auto i : indices(200))
    items.emplace_back(5000, i);
  EXPECT_EQ(pool.map(echo, items), items);
  auto counts = cable().counts();
  EXPECT_GT(counts.lost, 0u);
  EXPECT_GT(counts.delayed, counts.carried);
  expect_nothing_lost(pool, 200);
}

TEST_F(Network, of_a_machine_without_power_is_silent) {
  open_over_cable();
  Pool pool(2);
  auto results = pool.map_async(wait_5, indices(60));
  auto victim = await_victim();
  // Nobody tells the driver: no packet of the end gets through, and the process that
  // would report it stands still.
  auto reporter = zygote(mark());
  ASSERT_GT(reporter, 0);
  kill(reporter, SIGSTOP);
  ASSERT_TRUE(wait_until([&] { return is_stopped(reporter); }));
  cable().cut(Cut::both, {victim.port});
  kill(victim.pid, SIGKILL);
  EXPECT_TRUE(await_lost(pool, 1));
  EXPECT_TRUE(is_stopped(reporter));
  EXPECT_EQ(results.get(), undisturbed(60));
  kill(reporter, SIGCONT);
  expect_lost_once(pool, results, victim);
}

} // namespace
} // namespace fiber::e2e
