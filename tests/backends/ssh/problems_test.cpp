// SPDX-License-Identifier: Apache-2.0
// The promise: what keeps a host from running jobs is an error that names the host, the
// problem and the remedy, and nothing is left there. Each problem is a real one.
#include <initializer_list>
#include <utility>

#include "tests/backends/ssh/ssh_fixture.hpp"

namespace fiber::backends {
namespace {

class SshProblems : public SshTest {
protected:
  void SetUp() override {
    SshTest::SetUp();
    if (clusters::ssh())
      host("empty fiber-a");
  }
  /// Checks that a job on this host fails with all of these words, and that nothing is
  /// left on fiber-a.
  static void expect_problem(const std::string& at,
                             std::initializer_list<std::string> words) {
    auto problem = problem_of(ssh_options(at));
    for (auto& word : words)
      EXPECT_NE(problem.find(word), problem.npos)
        << "'" << word << "' is not in: " << problem;
    EXPECT_TRUE(soon([] { return host("files fiber-a").empty(); }))
      << host("files fiber-a");
    EXPECT_TRUE(soon([] { return processes("fiber-a").empty(); }));
  }
};

TEST_F(SshProblems, a_name_that_does_not_exist) {
  expect_problem("no-such-host.invalid", {"no-such-host.invalid", "Could not resolve"});
}

TEST_F(SshProblems, a_host_without_power) {
  host("kill fiber-a");
  auto problem = problem_of(ssh_options("fiber-a:1"));
  host("start fiber-a");
  EXPECT_NE(problem.find("fiber-a"), problem.npos) << problem;
  EXPECT_NE(problem.find("is it up?"), problem.npos) << problem;
}

TEST_F(SshProblems, a_host_without_sshd) {
  host("sshd-kill fiber-a");
  expect_problem("fiber-a", {"fiber-a", "Connection refused", "no sshd listens"});
}

TEST_F(SshProblems, a_host_key_that_has_changed) {
  host("sshd fiber-a 'HostKey /etc/ssh/other_key'");
  expect_problem("fiber-a", {"fiber-a", "known_hosts", "ssh-keygen -R fiber-a"});
}

TEST_F(SshProblems, a_key_that_is_refused) {
  host("sshd fiber-a 'AuthorizedKeysFile none'");
  expect_problem("fiber-a", {"fiber-a", "Permission denied", "ssh-copy-id fiber-a"});
}

TEST_F(SshProblems, a_password_that_would_be_needed) {
  host("sshd fiber-a 'AuthorizedKeysFile none' 'PasswordAuthentication yes'");
  expect_problem("fiber-a",
                 {"fiber-a", "Permission denied", "Fiber never asks for a password"});
}

TEST_F(SshProblems, a_machine_of_another_kind) {
  host("machine fiber-a i686");
  expect_problem("fiber-a", {"fiber-a", "a machine of kind i686"});
}

TEST_F(SshProblems, a_login_shell_that_runs_nothing) {
  host("shell fiber-a /usr/sbin/nologin");
  expect_problem("fiber-a", {"fiber-a", "login shell"});
}

TEST_F(SshProblems, a_start_file_that_ends_the_shell) {
  host("as fiber-a sh -c 'echo exit 0 >~/.bashrc'");
  auto problem = problem_of(ssh_options("fiber-a:1"));
  for (auto* word : {"fiber-a", ".bashrc"})
    EXPECT_NE(problem.find(word), problem.npos) << problem;
}

TEST_F(SshProblems, a_home_where_programs_can_not_run) {
  host("home fiber-a noexec");
  expect_problem("fiber-a", {"fiber-a", "noexec", "ssh_directory"});
}

TEST_F(SshProblems, a_home_without_room) {
  host("home fiber-a small");
  expect_problem("fiber-a", {"fiber-a", "No space left", "ssh_directory"});
}

TEST_F(SshProblems, a_home_of_another_user) {
  host("run fiber-a chown 12345 /home/fiber");
  auto problem = problem_of(ssh_options("fiber-a:1"));
  host("run fiber-a chown fiber /home/fiber");
  EXPECT_NE(problem.find("fiber-a"), problem.npos) << problem;
  EXPECT_NE(problem.find("Permission denied"), problem.npos) << problem;
  EXPECT_EQ(problem.find("ssh-copy-id"), problem.npos)
    << "the key is accepted: " << problem;
}

TEST_F(SshProblems, settings_that_are_wrong) {
  for (auto& [hosts, problem] :
       std::initializer_list<std::pair<std::string, std::string>>{
         {"fiber-a:0", "'0'"},
         {"fiber-a:many", "'many'"},
         {"fiber-a:2,fiber-a:3", "listed twice"},
         {"-oProxyCommand=true", "no host"}})
    expect_problem(hosts, {"ssh_hosts", problem});
}

TEST_F(SshProblems, a_command_that_is_no_ssh) {
  for (auto& [command, problem] :
       std::initializer_list<std::pair<std::string, std::string>>{
         {"no-such-ssh", "no-such-ssh"}, {"false", "exit code 1"}}) {
    auto options = ssh_options("fiber-a:1");
    options.values["ssh_command"] = command;
    auto told = problem_of(options);
    EXPECT_NE(told.find(problem), told.npos) << told;
  }
}

} // namespace
} // namespace fiber::backends
