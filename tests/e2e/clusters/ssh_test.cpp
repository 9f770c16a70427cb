// SPDX-License-Identifier: Apache-2.0
// Pools whose workers run on hosts with a real sshd keep their promises, whatever befalls
// the hosts, the network or the driver.
#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

#include <fiber/error.hpp>
#include <fiber/fiber.hpp>

#include "tests/clusters/cluster.hpp"
#include "tests/e2e/clusters/es_training.hpp"
#include "tests/e2e/clusters/ssh_pool.hpp"
#include "tests/e2e/support/fixture.hpp"
#include "tests/examples/program.hpp"

namespace fiber::e2e {
namespace {

using namespace std::chrono_literals;
using clusters::ssh_host;

std::string host_name() {
  std::string name(256, '\0');
  ::gethostname(name.data(), name.size());
  return name.c_str();
}

/// Each notes its host, and waits in its first run until the test says go.
std::size_t block_once(std::size_t i) {
  if (this_task::attempt() == 1) {
    note("holding", host_name());
    await_note("go");
  }
  return f(i);
}

bool await_notes(const std::string& list, std::size_t n) {
  return wait_until([&] { return notes(list).size() >= n; }, 60s);
}

TEST_F(SshPool, a_map_runs_on_all_hosts_whichever_way_leads_back) {
  open(config("fiber-a:2,fiber-b:2,fiber-c:2,fiber-d:2"));
  Pool pool(8);
  auto results = pool.map_async(block_once, indices(500));
  ASSERT_TRUE(await_notes("holding", 8));
  std::map<std::string, int> workers;
  for (auto& name : notes("holding"))
    ++workers[name];
  note("go", "");
  EXPECT_EQ(workers, (std::map<std::string, int>{
                       {"fiber-a", 2}, {"fiber-b", 2}, {"fiber-c", 2}, {"fiber-d", 2}}));
  EXPECT_EQ(results.get(), undisturbed(500));
  EXPECT_EQ(pool.stats().workers_lost, 0u);
}

TEST_F(SshPool, each_way_back_works_where_it_is_set) {
  for (auto& [host, way] : std::map<std::string, std::string>{
         {"fiber-a:1", "never"}, {"fiber-b:1", "always"}, {"fiber-d:1", "always"}}) {
    auto options = config(host);
    options.more["ssh_tunnel"] = way;
    open(options);
    {
      Pool pool(1);
      EXPECT_EQ(pool.map(f, indices(50)), undisturbed(50)) << host << " " << way;
    }
    close();
  }
}

TEST_F(SshPool, a_firewall_that_refuses_is_found_as_one_that_drops) {
  ssh_host("wall fiber-a reject");
  open(config("fiber-a:2"));
  Pool pool(2);
  EXPECT_EQ(pool.map(f, indices(50)), undisturbed(50));
}

TEST_F(SshPool, a_host_without_any_way_back_is_an_error_that_says_so) {
  auto options = config("fiber-d:1");
  options.more["ssh_tunnel"] = "never";
  auto error = start_error(options);
  for (auto* word : {"fiber-d", "ssh_tunnel"})
    EXPECT_NE(error.find(word), error.npos) << error;
  close();
  ssh_host("sshd fiber-d 'AllowTcpForwarding no'");
  error = start_error(config("fiber-d:1"));
  for (auto* word : {"fiber-d", "AllowTcpForwarding"})
    EXPECT_NE(error.find(word), error.npos) << error;
}

/// Returns the host that has the most of the workers that wait, and how many these are.
std::pair<std::string, std::size_t> busiest() {
  std::map<std::string, std::size_t> workers;
  for (auto& name : notes("holding"))
    ++workers[name];
  auto most =
    std::ranges::max_element(workers, {}, [](auto& each) { return each.second; });
  return {most->first, most->second};
}

TEST_F(SshPool, workers_of_a_host_without_power_go_to_the_others) {
  open(config("fiber-a:4,fiber-b:4"));
  Pool pool(4);
  auto results = pool.map_async(block_once, indices(40));
  ASSERT_TRUE(await_notes("holding", 4));
  auto [victim, lost] = busiest();
  ssh_host("kill " + victim);
  EXPECT_TRUE(await_notes("holding", 4 + lost)) << "not all are replaced";
  EXPECT_NE(notes("holding").back(), victim);
  note("go", "");
  EXPECT_EQ(results.get(), undisturbed(40));
  expect_works(pool, 4);
  ssh_host("start " + victim);
}

TEST_F(SshPool, a_host_that_is_cut_off_does_nothing_twice) {
  open(config("fiber-a:4,fiber-b:4"));
  Pool pool(4);
  auto results = pool.map_async(
    [](std::size_t i) {
      note("runs", std::to_string(i));
      return block_once(i);
    },
    indices(40));
  ASSERT_TRUE(await_notes("holding", 4));
  auto [victim, lost] = busiest();
  ssh_host("cut " + victim);
  EXPECT_TRUE(wait_until([&] { return processes(victim).empty(); }))
    << "the jobs there have not ended after a lease";
  note("go", "");
  EXPECT_EQ(results.get(), undisturbed(40));
  ssh_host("mend " + victim);
  expect_works(pool, 4);
  auto counts = runs("runs", 40);
  EXPECT_EQ(std::ranges::count(counts, 2u), static_cast<long>(lost))
    << "what ran on the lost host";
  EXPECT_EQ(std::ranges::count(counts, 1u), 40 - static_cast<long>(lost));
}

TEST_F(SshPool, a_network_that_loses_packets_only_delays) {
  open(config("fiber-a:2,fiber-d:2"));
  ssh_host("lose fiber-a 0.01");
  ssh_host("lose fiber-d 0.01");
  Pool pool(4);
  EXPECT_EQ(pool.map(f, indices(2000)), undisturbed(2000));
}

TEST_F(SshPool, a_pool_that_is_larger_than_the_hosts_uses_what_these_have) {
  open(config("fiber-a:1,fiber-b:1"));
  Pool pool(6);
  EXPECT_EQ(pool.map(f, indices(100)), undisturbed(100));
  EXPECT_TRUE(wait_until([&] { return pool.stats().workers == 2; }));
}

/// Returns the sum over the members, which only those who meet can tell.
double sum_of_ranks(RingMember& member) {
  std::vector<double> values{static_cast<double>(member.rank())};
  member.allreduce(values);
  return values[0];
}

TEST_F(SshPool, the_members_of_a_ring_meet_whichever_way_leads_back) {
  for (std::string way : {"auto", "always"}) {
    SCOPED_TRACE(way);
    auto with = config("fiber-a:1,fiber-b:1,fiber-c:1,fiber-d:1");
    with.more["ssh_tunnel"] = way;
    with.ring_plaintext = true;
    open(with);
    EXPECT_EQ(Ring(4, sum_of_ranks).run(), std::vector<double>(4, 6));
    close();
  }
}

TEST_F(SshPool, nothing_is_left_of_a_driver_that_was_killed) {
  const std::map<std::string, std::string> settings{
    {"FIBER_BACKEND", "ssh"},
    {"FIBER_SSH_HOSTS", "fiber-a:1,fiber-b:1,fiber-c:1,fiber-d:1"},
    {"FIBER_SSH_COMMAND", clusters::ssh()->at("SSH_COMMAND")},
    {"FIBER_ENVIRONMENT", "E2E_FOLDER,E2E_MARK"},
    {"FIBER_LEASE", "5s"},
    {"FIBER_HEARTBEAT_TIMEOUT", "2s"}};
  for (auto& [name, value] : settings)
    ::setenv(name.c_str(), value.c_str(), 1);
  Program driver({"/proc/self/exe", "hold"});
  for (auto& [name, value] : settings)
    ::unsetenv(name.c_str());
  ASSERT_TRUE(await_notes("holding", 4));
  driver.kill(SIGKILL);
  for (std::string name : all_hosts)
    EXPECT_TRUE(wait_until([&] { return processes(name).empty(); })) << name;
  EXPECT_TRUE(wait_until([&] { return marked(mark()).empty(); }));
}

#ifdef ES_TRAIN
TEST_F(SshPool, a_training_ends_the_same_though_a_host_loses_sshd_and_agent) {
  auto local = (folder() / "local").string(), there = (folder() / "ssh").string();
  auto here = start_training(ES_TRAIN, local, 4, {"FIBER_BACKEND=local"});
  auto told = here->rest();
  ASSERT_EQ(here->wait(), 1) << told;
  ASSERT_FALSE(policy_in(local).empty()) << told;
  auto remote =
    start_training(ES_TRAIN, there, 4,
                   {"FIBER_BACKEND=ssh", "FIBER_SSH_HOSTS=fiber-a:2,fiber-b:2",
                    "FIBER_SSH_COMMAND=" + clusters::ssh()->at("SSH_COMMAND")});
  remote->limit_unread();
  ASSERT_TRUE(remote->read_until(
    1, [](const std::string& line) { return line.find("10/60") != line.npos; }))
    << remote->output();
  ssh_host("sshd-kill fiber-a");
  for (auto pid : processes("fiber-a"))
    ::kill(pid, SIGKILL);
  ssh_host("sshd fiber-a");
  remote->rest();
  EXPECT_EQ(remote->wait(), 1) << remote->output();
  EXPECT_EQ(policy_in(there), policy_in(local)) << remote->output();
}
#endif

} // namespace
} // namespace fiber::e2e
