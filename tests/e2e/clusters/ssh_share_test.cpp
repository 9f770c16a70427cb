// SPDX-License-Identifier: Apache-2.0
// A shared value reaches the workers of all hosts, and the driver sends a bounded number
// of copies, whatever the network lets the hosts do.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <future>
#include <numeric>
#include <string>
#include <utility>
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
  /// Lets each worker read a value, of which the driver must send `n` copies.
  static void expect_copies(double n, Pool& pool, std::size_t workers) {
    auto copies = share_with(pool, workers);
    EXPECT_GE(copies, n);
    EXPECT_LT(copies, n + 0.1);
  }
  /// Hosts that are busy are not taken for lost.
  static Config patient(const std::string& hosts) {
    auto with = config(hosts);
    with.heartbeat_timeout = 30s;
    with.lease = 60s;
    return with;
  }
};

TEST_F(SshShare, a_large_value_is_sent_once_to_each_host) {
  open(patient("fiber-a:4"));
  Pool pool(4);
  expect_copies(1, pool, 4);
}

TEST_F(SshShare, hosts_pass_on_a_large_value_that_the_driver_has_sent_to_two_of_them) {
  open(patient("fiber-a:2,fiber-b:2,fiber-c:2,fiber-d:2"));
  Pool pool(8);
  expect_copies(2, pool, 8);
}

TEST_F(SshShare, hosts_behind_tunnels_pass_a_value_on_as_well) {
  auto with = patient("fiber-a:1,fiber-b:1,fiber-c:1,fiber-d:1");
  with.more["ssh_tunnel"] = "always";
  open(with);
  Pool pool(4);
  expect_copies(2, pool, 4);
}

TEST_F(SshShare, the_driver_sends_to_hosts_that_can_not_reach_each_other) {
  for (std::string how : {"reject", "drop"}) {
    SCOPED_TRACE(how);
    open(patient("fiber-a:1,fiber-b:1,fiber-c:1,fiber-d:1"));
    Pool pool(4);
    for (std::string name : all_hosts)
      ssh_host("shun " + name + " " + how);
    for (int i = 0; i < 2; ++i)
      expect_copies(4, pool, 4);
    close();
    ssh_host("usual");
  }
}

/// Cuts the links between jobs again and again, until its end.
class Cutter {
public:
  explicit Cutter(std::vector<pid_t> jobs)
    : cutting_(std::async(std::launch::async, [this, jobs = std::move(jobs)] {
        while (!done_)
          for (auto pid : jobs)
            for (auto& link : peer_links(pid))
              ::shutdown(link.get(), SHUT_RDWR);
      })) {}
  ~Cutter() { done_ = true; }
  Cutter(const Cutter&) = delete;
  Cutter& operator=(const Cutter&) = delete;

private:
  std::atomic<bool> done_ = false;
  std::future<void> cutting_; // Its end waits.
};

TEST_F(SshShare,
       a_value_arrives_though_links_between_hosts_are_cut_while_it_is_passed_on) {
  ssh_host("unwall fiber-d"); // Otherwise its link to the driver looks like one to a job.
  double most = 0;
  for (int i = 0; i < 3; ++i) {
    open(patient("fiber-a:1,fiber-b:1,fiber-c:1,fiber-d:1"));
    Pool pool(4);
    ASSERT_TRUE(pool.wait_until_workers_up(60s));
    std::vector<pid_t> jobs;
    for (std::string name : all_hosts)
      for (auto pid : processes(name))
        jobs.push_back(pid);
    const Cutter cutter(jobs);
    for (int j = 0; j < 3; ++j) {
      auto copies = share_with(pool, 4);
      EXPECT_GE(copies, 2);
      EXPECT_LT(copies, 4.1);
      most = std::max(most, copies);
    }
    EXPECT_EQ(pool.stats().workers_lost, 0u);
    close();
  }
  EXPECT_GT(most, 2.9) << "no link was cut";
}

} // namespace
} // namespace fiber::e2e
