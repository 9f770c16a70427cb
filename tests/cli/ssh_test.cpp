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
    for (auto* name : {"fiber-a", "fiber-d"}) {
      EXPECT_TRUE(wait_for([&] { return processes(name).empty(); }))
        << "left on " << name << ":\n"
        << processes(name);
      const auto files = clusters::ssh_host(std::string("files ") + name);
      EXPECT_EQ(files.find(".cache/fiber/."), files.npos) << files;
    }
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
  error = run({"--backend", "ssh", "--hosts", "no-hosts.txt"}, {}).err;
  EXPECT_NE(error.find("no-hosts.txt: there is no such file"), error.npos) << error;
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

TEST_F(SshCommand, files_of_drivers_and_jobs_there_have_the_usual_permissions) {
  const auto usual = clusters::ssh_host("as fiber-a sh -c umask").substr(1, 3);
  ASSERT_NE(usual, "077");
  auto outcome = run({"--on", "fiber-a"}, {"umask", "on", "exit", "0"});
  EXPECT_EQ(outcome.out, "on " + std::to_string(std::stoi(usual)) + " " +
                           std::to_string(std::stoi(usual)) + "\n");
  outcome = run({"--backend", "ssh", "--hosts", "fiber-a:1"}, {"umask", "of"});
  EXPECT_TRUE(outcome.out.ends_with(" " + std::to_string(std::stoi(usual)) + "\n"))
    << outcome.out;
}

TEST_F(SshCommand, runs_a_driver_there_as_if_it_were_here) {
  auto outcome =
    run({"--on", "fiber-a", "--env", "ODD=it's \"$HOME\" \\ $(id) `id` \n;"},
        {"read", "/proc/sys/kernel/hostname", "env", "ODD", "env", "FIBER_LEASE", "env",
         "FIBER_BACKEND", "env", "TERM", "sum", "4", "err", "oops", "exit", "3"});
  EXPECT_EQ(outcome.code, 3) << outcome.err;
  EXPECT_EQ(outcome.out,
            "fiber-a\nODD=it's \"$HOME\" \\ $(id) `id` \n;\nFIBER_LEASE=10s\n"
            "FIBER_BACKEND=auto\nTERM=(none)\nsum 168\n");
  EXPECT_NE(outcome.err.find("oops\n"), std::string::npos) << outcome.err;
}

TEST_F(SshCommand, a_driver_there_reads_the_input_here) {
  folder_.write("input", "line\nlast");
  auto outcome = shell(FIBER_COMMAND " run --on fiber-a -- " CLI_PROGRAM " read - <" +
                         folder_.path("input"),
                       with());
  EXPECT_EQ(outcome.out, "line\nlast") << outcome.err;
}

TEST_F(SshCommand, a_driver_there_has_a_terminal_if_there_is_one_here) {
  auto outcome = shell("TERM=vt220 script -qec '" FIBER_COMMAND
                       " run --on fiber-a -- " CLI_PROGRAM " env TERM exit 5' /dev/null",
                       with());
  EXPECT_EQ(outcome.code, 5);
  EXPECT_NE(outcome.out.find("TERM=vt220"), std::string::npos) << outcome.out;
}

TEST_F(SshCommand, ctrl_c_in_a_terminal_stops_a_driver_there) {
  folder_.write("out", "");
  const auto out = folder_.path("out");
  auto outcome =
    shell("{ until grep -q waiting " + out +
            "; do sleep 0.02; done; printf '\\003'; until grep -q end " + out +
            "; do sleep 0.02; done; } | { script -qefc '" FIBER_COMMAND
            " run --on fiber-a -- " CLI_PROGRAM " wait 1' /dev/null; echo end $?; }"
            " >" +
            out,
          with());
  EXPECT_NE(folder_.read("out").find("end 130"), std::string::npos)
    << folder_.read("out");
}

TEST_F(SshCommand, any_login_shell_there_starts_a_driver) {
  for (std::string shell : {"/usr/bin/fish", "/usr/bin/zsh", "/bin/dash"}) {
    clusters::ssh_host("shell fiber-a " + shell);
    auto outcome = run({"--on", "fiber-a", "--env", "ODD= $HOME\n'\"\\ \n"},
                       {"env", "ODD", "sum", "4", "exit", "3"});
    EXPECT_EQ(outcome.code, 3) << shell << outcome.err;
    EXPECT_EQ(outcome.out, "ODD= $HOME\n'\"\\ \n\nsum 168\n") << shell << outcome.err;
  }
}

TEST_F(SshCommand, a_driver_there_may_have_its_jobs_on_other_hosts) {
  // The driver needs a key there, and must know its hosts.
  const auto command = clusters::ssh()->at("SSH_COMMAND");
  const auto here =
    std::filesystem::path(command.substr(command.rfind(' ') + 1)).parent_path().string();
  const auto there = folder_.path("keys");
  const auto user = clusters::ssh_host("run fiber-a id -u fiber");
  auto copied = shell(
    "mkdir " + there + " && cd " + here + " && cp id known_hosts ssh_config " + there +
    " && sed -i s," + here + "," + there + ",g " + there + "/ssh_config && chown -R " +
    user.substr(0, user.find('\n')) + " " + there + " && chmod 711 " + folder_.path(""));
  ASSERT_EQ(copied.code, 0) << copied.err;
  clusters::ssh_host("share fiber-a " + folder_.path(""));
  folder_.write("hosts", "fiber-d slots=2 # behind a wall\n");
  auto outcome =
    run({"--on", "fiber-a", "--backend", "ssh", "--hosts", folder_.path("hosts"), "--env",
         "FIBER_SSH_COMMAND=ssh -F " + there + "/ssh_config"},
        {"sum", "4"});
  EXPECT_EQ(outcome.out, "sum 168\n") << outcome.err;
}

TEST_F(SshCommand, a_signal_stops_a_driver_there) {
  Command command({"run", "--on", "fiber-a", "--", CLI_PROGRAM, "wait", "1"}, with());
  ASSERT_TRUE(command.says("waiting"));
  command.signal(SIGINT);
  EXPECT_EQ(command.wait().code, 128 + SIGINT);
}

TEST_F(SshCommand, a_driver_there_ends_if_the_command_is_killed) {
  Command command({"run", "--on", "fiber-a", "--", CLI_PROGRAM, "wait", "1"}, with());
  ASSERT_TRUE(command.says("waiting"));
  command.signal(SIGKILL);
  EXPECT_EQ(command.wait().code, 128 + SIGKILL);
}

TEST_F(SshCommand, the_second_signal_ends_a_driver_there_that_ends_at_no_other) {
  Command command({"run", "--on", "fiber-a", "--", CLI_PROGRAM, "deaf", "1"}, with());
  ASSERT_TRUE(command.says("waiting"));
  command.signal(SIGINT);
  ASSERT_TRUE(command.says("asked"));
  command.signal(SIGINT); // Kills the process here, as the second Ctrl-C does.
  EXPECT_EQ(command.wait().code, 128 + SIGKILL);
}

TEST_F(SshCommand, refuses_to_run_on_a_host_that_is_none) {
  auto error = run({"--on", "fiber-x"}, {"exit", "0"});
  EXPECT_EQ(error.code, 255);
  EXPECT_NE(error.err.find("run on fiber-x: "), std::string::npos) << error.err;
  EXPECT_NE(error.err.find("Could not resolve hostname"), std::string::npos) << error.err;
  for (auto& [on, problem] : Variables{{"fiber-a:2", "one host"},
                                       {"fiber-a,fiber-d", "one host"},
                                       {"-oProxyCommand=reboot", "is no host"}})
    EXPECT_NE(run({"--on=" + on}, {"exit", "0"}).err.find(problem), std::string::npos)
      << on;
  for (Words options : {Words{"--detach"}, Words{"--build"}, Words{"--env", "A.B=1"}}) {
    options.insert(options.begin(), {"--on", "fiber-a"});
    const auto refused = run(options, {"exit", "0"});
    EXPECT_EQ(refused.code, 1);
    EXPECT_NE(refused.err.find(options[2]), refused.err.npos) << refused.err;
  }
  auto other = fiber_command({"run", "--on", "fiber-a", "--", "true"}, with());
  EXPECT_NE(other.err.find("not linked with this version of Fiber"), other.err.npos)
    << other.err;
  folder_.write("hosts", "fiber-d slots=2 max_slots=4\n");
  auto slots =
    run({"--on", "fiber-a", "--backend", "ssh", "--hosts", folder_.path("hosts")},
        {"exit", "0"});
  EXPECT_NE(slots.err.find("remove max_slots"), std::string::npos) << slots.err;
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
