// SPDX-License-Identifier: Apache-2.0
// The promise: `fiber run` starts drivers whose jobs are on hosts with a real sshd, the
// verbs work on them as on local ones, and `fiber doctor` says what is wrong with a host.
#include <csignal>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "tests/cli/command.hpp"
#include "tests/cli/crashed_driver.hpp"
#include "tests/clusters/cluster.hpp"

namespace fiber::cli {
namespace {

class SshCommand : public testing::Test {
protected:
  void SetUp() override {
    if (!clusters::ssh())
      GTEST_SKIP() << "SKIPPED: no hosts are up";
    std::filesystem::create_directory(folder_.path("run"));
  }
  void TearDown() override {
    if (!clusters::ssh())
      return;
    for (auto* name : {"fiber-a", "fiber-d"})
      EXPECT_TRUE(wait_for([&] { return processes(name).empty(); }))
        << "left on " << name << ":\n"
        << processes(name);
    clusters::ssh_host("usual");
  }

  static std::string processes(const std::string& name) {
    return clusters::ssh_host("pids " + name);
  }
  Variables with(Variables variables = {}) const {
    variables.insert({{"FIBER_SSH_COMMAND", clusters::ssh()->at("SSH_COMMAND")},
                      {"FIBER_LEASE", "10s"},
                      {"FIBER_HEARTBEAT_TIMEOUT", "3s"},
                      {"XDG_RUNTIME_DIR", folder_.path("run")}});
    return variables;
  }
  Outcome run(const Words& options, const Words& program) const {
    Words all{"run"};
    all.insert(all.end(), options.begin(), options.end());
    all.insert(all.end(), {"--", CLI_PROGRAM});
    all.insert(all.end(), program.begin(), program.end());
    return fiber_command(all, with());
  }
  void expect_trouble(const std::string& hosts, const std::string& name,
                      const std::string& problem, const std::string& advice) const {
    auto outcome =
      fiber_command({"doctor", "ssh", "--json"}, with({{"FIBER_SSH_HOSTS", hosts}}));
    expect_last_trouble(outcome, name, problem, advice);
  }

  const TestFolder folder_;
};

TEST_F(SshCommand, runs_a_driver_here_whose_jobs_are_on_the_hosts_of_a_file) {
  folder_.write("hosts", "fiber-a slots=1 # one\nfiber-d\n");
  auto outcome = run({"--backend", "ssh", "--hosts", folder_.path("hosts")},
                     {"sum", "4", "exit", "3"});
  EXPECT_EQ(outcome.code, 3) << outcome.err;
  EXPECT_EQ(outcome.out, "sum 168\n");
}

TEST_F(SshCommand, runs_a_driver_whose_hosts_are_listed) {
  auto outcome =
    run({"--backend", "ssh", "--hosts", "fiber-a:1,fiber-d:1"}, {"sum", "4"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "sum 168\n");
}

TEST_F(SshCommand, refuses_hosts_that_do_not_fit) {
  auto error = run({"--backend", "local", "--hosts", "fiber-a"}, {}).err;
  EXPECT_NE(error.find("--hosts is for the backend ssh"), error.npos) << error;
  error = run({"--backend", "ssh", "--hosts", "none/hosts"}, {}).err;
  EXPECT_NE(error.find("none/hosts: there is no such file"), error.npos) << error;
  folder_.write("hosts", "fiber-a\nfiber-b slots=0\n");
  error = run({"--backend", "ssh", "--hosts", folder_.path("hosts")}, {"sum", "4"}).err;
  EXPECT_NE(error.find("hosts:2"), error.npos) << error;
}

TEST_F(SshCommand, verbs_see_the_driver_and_kill_ends_its_jobs) {
  Command command({"run", "--backend", "ssh", "--hosts", "fiber-a:1", "--name", "cli-ssh",
                   "--", CLI_PROGRAM, "wait", "1"},
                  with());
  ASSERT_TRUE(command.says("waiting"));
  EXPECT_FALSE(processes("fiber-a").empty());
  auto listed = fiber_command({"ps"}, with()).out;
  EXPECT_NE(listed.find("cli-ssh"), listed.npos) << listed;
  EXPECT_NE(listed.find(" ssh "), listed.npos) << listed;
  auto killed = fiber_command({"kill", "cli-ssh"}, with());
  EXPECT_EQ(killed.code, 0) << killed.err;
  EXPECT_EQ(command.wait().code, 128 + SIGKILL);
}

TEST_F(SshCommand, a_signal_stops_the_driver_and_its_jobs) {
  Command command(
    {"run", "--backend", "ssh", "--hosts", "fiber-a:1", "--", CLI_PROGRAM, "wait", "1"},
    with());
  ASSERT_TRUE(command.says("waiting"));
  command.signal(SIGINT);
  EXPECT_EQ(command.wait().code, 128 + SIGINT);
}

TEST_F(SshCommand, cp_names_scp) {
  folder_.write("file", "text");
  auto outcome =
    fiber_command({"cp", folder_.path("file"), "ssh:fiber-a:/tmp/file"}, with());
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.err.find("scp "), std::string::npos) << outcome.err;
}

TEST_F(SshCommand, doctor_finds_good_hosts_well) {
  auto outcome =
    fiber_command({"doctor", "ssh"}, with({{"FIBER_SSH_HOSTS", "fiber-a:1,fiber-d:1"}}));
  EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  for (auto* check : {"fiber-a: ssh", "fiber-a: room", "fiber-d: clock"})
    EXPECT_NE(outcome.out.find(check), std::string::npos) << outcome.out;
}

TEST_F(SshCommand, doctor_finds_that_no_hosts_are_named) {
  expect_trouble("", "hosts", "the backend ssh needs hosts", "FIBER_SSH_HOSTS=a:8,b:16");
}

TEST_F(SshCommand, doctor_finds_a_key_that_is_refused) {
  clusters::ssh_host("sshd fiber-d 'AuthorizedKeysFile none'");
  expect_trouble("fiber-a:1,fiber-d:1", "fiber-d: ssh", "Permission denied",
                 "ssh fiber-d true");
}

TEST_F(SshCommand, doctor_finds_a_home_without_room) {
  clusters::ssh_host("home fiber-a small");
  expect_trouble("fiber-a:1", "fiber-a: room", "0 MB are free on /home/fiber",
                 "ssh_directory");
}

} // namespace
} // namespace fiber::cli
