// SPDX-License-Identifier: Apache-2.0
// Workers behind a network that is cut, slow or loses packets: none of them is killed by
// the test, and no connection is closed, unless it says so.
#include <algorithm>
#include <csignal>
#include <thread>

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fiber/this_task.hpp>

#include "tests/e2e/network/network_fixture.hpp"

namespace fiber::e2e {
namespace {

using namespace std::chrono_literals;
using Cut = Cable::Cut;

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

} // namespace
} // namespace fiber::e2e
