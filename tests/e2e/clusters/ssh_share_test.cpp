// SPDX-License-Identifier: Apache-2.0
// A shared value reaches the workers of all hosts, and the driver sends a bounded number
// of copies, whatever the network lets the hosts do.
#include <atomic>
#include <cstddef>
#include <future>
#include <numeric>
#include <string>
#include <vector>

#include <sys/socket.h>

#include <gtest/gtest.h>

#include <fiber/fiber.hpp>

#include "tests/clusters/cluster.hpp"
#include "tests/e2e/clusters/ssh_pool.hpp"
#include "tests/e2e/support/peer_sockets.hpp"

namespace fiber::e2e {
namespace {

using namespace std::chrono_literals;
using clusters::ssh_host;

constexpr std::size_t size = 4'000'000, bytes = size * sizeof(std::size_t);

/// Every worker takes one of the tasks, since none ends before all have begun.
std::size_t sum_from(const Shared<std::vector<std::size_t>>& values, Barrier all,
                     std::size_t i) {
  all.wait();
  return std::accumulate(values->begin(), values->end(), i);
}

class SshShare : public SshPool {
protected:
  /// Lets each worker read a value, and returns how many copies the driver has sent.
  static double share_with(Pool& pool, std::size_t workers) {
    auto before = pool.stats().bytes_sent;
    auto values = share(indices(size));
    auto sums = pool.map(fiber::bind(sum_from, values, Barrier(workers)),
                         indices(workers), {.chunksize = 1});
    for (std::size_t i = 0; i < sums.size(); ++i)
      EXPECT_EQ(sums[i], i + size / 2 * (size - 1));
    return static_cast<double>(pool.stats().bytes_sent - before) / bytes;
  }
  /// Hosts answer no more when another host wants to connect.
  static void part_hosts(const std::string& how) {
    const auto driver = clusters::ssh()->at("SSH_ADDRESS");
    for (std::string name : all_hosts)
      ssh_host("run " + name + " iptables -w -A INPUT -i eth0 -p tcp --syn ! -s " +
               driver + " -j " + how);
  }
  static void join_hosts() {
    for (std::string name : all_hosts)
      ssh_host("run " + name + " iptables -w -F INPUT");
  }
};

TEST_F(SshShare, a_large_value_is_sent_once_to_each_host) {
  open(config("fiber-a:4"));
  Pool pool(4);
  auto copies = share_with(pool, 4);
  EXPECT_GE(copies, 1);
  EXPECT_LT(copies, 1.1);
}

TEST_F(SshShare, hosts_pass_on_a_large_value_that_the_driver_has_sent_to_two_of_them) {
  open(config("fiber-a:2,fiber-b:2,fiber-c:2,fiber-d:2"));
  Pool pool(8);
  auto copies = share_with(pool, 8);
  EXPECT_GE(copies, 2);
  EXPECT_LT(copies, 2.1);
}

TEST_F(SshShare, hosts_behind_tunnels_pass_a_value_on_as_well) {
  auto with = config("fiber-a:1,fiber-b:1,fiber-c:1,fiber-d:1");
  with.more["ssh_tunnel"] = "always";
  open(with);
  Pool pool(4);
  auto copies = share_with(pool, 4);
  EXPECT_GE(copies, 2);
  EXPECT_LT(copies, 2.1);
}

TEST_F(SshShare, the_driver_sends_to_hosts_that_can_not_reach_each_other) {
  for (std::string how : {"REJECT --reject-with tcp-reset", "DROP"}) {
    SCOPED_TRACE(how);
    open(config("fiber-a:1,fiber-b:1,fiber-c:1,fiber-d:1"));
    Pool pool(4);
    part_hosts(how);
    auto first = share_with(pool, 4), second = share_with(pool, 4);
    join_hosts();
    EXPECT_GE(first, 4);
    EXPECT_LT(first, 4.1);
    EXPECT_GE(second, 4);
    EXPECT_LT(second, 4.1);
    close();
  }
}

TEST_F(SshShare,
       a_value_arrives_though_links_between_hosts_are_cut_while_it_is_passed_on) {
  open(config("fiber-a:1,fiber-b:1,fiber-c:1,fiber-d:1"));
  Pool pool(4);
  ASSERT_TRUE(pool.wait_until_workers_up(60s));
  std::size_t cut = 0;
  for (int i = 0; i < 20; ++i) {
    std::atomic<bool> done = false;
    auto jobs = std::vector<pid_t>();
    for (std::string name : all_hosts)
      for (auto pid : processes(name))
        jobs.push_back(pid);
    auto cutting = std::async(std::launch::async, [&] {
      while (!done)
        for (auto pid : jobs)
          for (auto& link : peer_links(pid)) {
            ::shutdown(link.get(), SHUT_RDWR);
            ++cut;
          }
    });
    auto copies = share_with(pool, 4);
    done = true;
    cutting.get();
    EXPECT_GE(copies, 2);
    EXPECT_LT(copies, 4.1);
  }
  EXPECT_GT(cut, 0u);
}

} // namespace
} // namespace fiber::e2e
