// SPDX-License-Identifier: Apache-2.0
// The promise: whether the driver, ssh, sshd or the agent dies, or the network is cut, no
// process is left on any host after a lease; jobs that are lost are reported, and the
// host runs jobs again once it can be reached.
#include <sys/wait.h>

#include <csignal>
#include <unistd.h>

#include "tests/backends/ssh/ssh_fixture.hpp"

namespace fiber::backends {

using Kind = JobEvent::Kind;

namespace {

/// Two jobs on fiber-a, each with a child. The jobs have stopped themselves, so they
/// notice nothing.
class SshLoss : public SshTest {
protected:
  void SetUp() override {
    SshTest::SetUp();
    if (!clusters::ssh())
      return;
    test_ = std::make_unique<BackendTest>(make_ssh_backend(ssh_options("fiber-a:2")));
    for (auto* name : {"one", "two"})
      ASSERT_NE(test_->events.started(test_->create(name, "child\nstop\nlinger").id), -1);
    EXPECT_TRUE(eventually([] { return stopped().size() == 2; }));
  }
  void TearDown() override {
    test_.reset();
    SshTest::TearDown();
  }

  /// Returns the jobs.
  static std::vector<int> stopped() {
    auto pids = processes("fiber-a");
    std::erase_if(pids, [agent = agent("fiber-a")](int pid) {
      auto stat = first_line("/proc/" + std::to_string(pid) + "/stat");
      return pid == agent || stat.find(") T ") == stat.npos;
    });
    return pids;
  }
  /// Checks that the jobs are reported as ended, by a report that is true, and that soon
  /// none of their processes is left.
  void expect_end() {
    for (auto* name : {"one", "two"}) {
      auto last = test_->events.last(name);
      EXPECT_EQ(last.kind, Kind::ended);
      EXPECT_NE(last.exit_code, 0);
      EXPECT_NE(last.detail.find("fiber-a"), last.detail.npos) << last.detail;
      confirmed_ = last.confirmed;
    }
    if (confirmed_) {
      EXPECT_TRUE(stopped().empty()) << "a job lives on whose end is confirmed";
    }
  }
  static void expect_none_left() {
    EXPECT_TRUE(soon([] { return processes("fiber-a").empty(); }))
      << host("pids fiber-a");
  }
  /// Checks that the host runs jobs again: those before it is connected may fail.
  void expect_works() {
    int number = 0;
    JobEvent last;
    EXPECT_TRUE(eventually([&] {
      last = test_->events.last(
        test_->create("again-" + std::to_string(++number), "exit 7").id);
      return last.kind == Kind::ended;
    }));
    EXPECT_EQ(last.exit_code, 7) << last.detail;
  }

  void lose_network(const std::string& way) {
    host(way + " fiber-a");
    expect_none_left();
    expect_end();
    host("mend fiber-a");
    expect_works();
  }

  std::unique_ptr<BackendTest> test_;
  bool confirmed_ = false;
};

TEST_F(SshLoss, of_ssh_ends_the_jobs) {
  auto pids = clients();
  EXPECT_FALSE(pids.empty());
  for (int pid : pids)
    ::kill(pid, SIGKILL);
  expect_end();
  expect_works();
}

TEST_F(SshLoss, of_sshd_ends_the_jobs) {
  host("sshd-kill fiber-a");
  expect_end();
  expect_none_left();
  host("sshd fiber-a");
  expect_works();
}

TEST_F(SshLoss, of_the_agent_ends_the_jobs) {
  int pid = agent("fiber-a");
  ASSERT_GT(pid, 0);
  ::kill(pid, SIGKILL);
  expect_end();
  expect_works();
}

TEST_F(SshLoss, of_an_agent_that_hangs_is_noticed) {
  int pid = agent("fiber-a");
  ASSERT_GT(pid, 0);
  ::kill(pid, SIGSTOP);
  expect_end();
  ::kill(pid, SIGCONT);
  expect_works();
}

TEST_F(SshLoss, of_the_host_is_noticed) {
  host("kill fiber-a");
  expect_end();
  host("start fiber-a");
  expect_works();
}

TEST_F(SshLoss, of_the_network_ends_the_jobs) {
  lose_network("cut");
}

TEST_F(SshLoss, of_what_the_host_sends_ends_the_jobs) {
  lose_network("mute");
}

TEST_F(SshLoss, of_what_the_host_is_sent_ends_the_jobs) {
  lose_network("deafen");
}

TEST_F(SshLoss, of_some_packets_is_not_noticed) {
  host("lose fiber-a 0.01");
  auto job = test_->create("many", "flood 3000000\nexit 0");
  test_->backend->terminate("one", std::chrono::milliseconds(0));
  auto last = test_->events.last(job.id);
  EXPECT_EQ(last.exit_code, 0) << last.detail;
  EXPECT_TRUE(test_->backend->logs(job.id).ends_with("end of flood\n"));
  EXPECT_EQ(test_->events.of("two").size(), 1u);
}

class SshDriver : public SshTest {};

TEST_F(SshDriver, leaves_nothing_on_any_host_when_it_is_killed) {
  const std::string hosts = "fiber-a:1,fiber-b:1,fiber-c:1,fiber-d:1";
  auto pid = ::fork();
  if (pid == 0) {
    ::execl("/proc/self/exe", "ssh_test", "--drive", hosts.c_str(), nullptr);
    ::_exit(127);
  }
  for (auto* name : {"fiber-a", "fiber-b", "fiber-c", "fiber-d"})
    EXPECT_TRUE(eventually([&] { return processes(name).size() >= 3; }))
      << name << ":\n"
      << host(std::string("pids ") + name);
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
  for (auto* name : {"fiber-a", "fiber-b", "fiber-c", "fiber-d"})
    EXPECT_TRUE(soon([&] { return processes(name).empty(); }))
      << name << ":\n"
      << host(std::string("pids ") + name);
  EXPECT_TRUE(soon([] { return clients().empty(); }));
}

} // namespace

} // namespace fiber::backends
