// SPDX-License-Identifier: Apache-2.0
// The promise: hosts are read as the user wrote them, and an error names the place, the
// problem and what would be valid.
#include "backends/ssh/hosts.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <initializer_list>
#include <string>
#include <tuple>
#include <utility>

#include "backends/backend.hpp"
#include "backends/ssh/ssh_command.hpp"
#include "tests/planted/temporary_folder.hpp"

namespace fiber::backends::ssh {
namespace {

std::string told(const std::string& text) {
  std::string all;
  for (auto& host : parse_hosts(text, "environment"))
    all += host.name + " " + std::to_string(host.slots) + "\n";
  return all;
}

std::string refused(const std::string& text) {
  try {
    return "was read as " + told(text);
  } catch (const SettingError& error) {
    return error.what();
  }
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != text.npos;
}

TEST(SshHosts, are_separated_by_commas_and_may_have_slots) {
  EXPECT_EQ(told("a"), "a 0\n");
  EXPECT_EQ(told("a:8,me@b.example.org:16,10.0.0.7"),
            "a 8\nme@b.example.org 16\n10.0.0.7 0\n");
  EXPECT_EQ(told("[::1]:4,[fe80::1]"), "::1 4\nfe80::1 0\n");
}

TEST(SshHosts, that_are_wrong_are_refused_with_the_problem) {
  for (auto* text : {"a:0", "a:-1", "a:x", "a:1.5", "a:5000", "a:"})
    EXPECT_TRUE(has(refused(text), "is no number of slots from 1 to 4096"))
      << text << ": " << refused(text);
  for (auto* text : {"-oProxyCommand=reboot", "a b", "a;reboot", "$(reboot)", ":4"})
    EXPECT_TRUE(has(refused(text), "is no host")) << text << ": " << refused(text);
  EXPECT_TRUE(has(refused("a:1,b,a:2"), "'a' is listed twice")) << refused("a:1,b,a:2");
  EXPECT_TRUE(has(refused(""), "no host")) << refused("");
  auto error = refused("a:0");
  EXPECT_TRUE(error.starts_with("environment: ssh_hosts: ")) << error;
  EXPECT_TRUE(has(error, "valid: HOST or HOST:SLOTS")) << error;
}

class SshHostfile : public testing::Test {
protected:
  std::string told(const std::string& text) {
    std::ofstream(path_) << text;
    std::string all;
    try {
      for (auto& host : read_hostfile(path_))
        all += host.name + " " + std::to_string(host.slots) + " " +
               std::to_string(host.max_slots) + "\n";
    } catch (const SettingError& error) {
      return error.what();
    }
    return all;
  }

  const tests::TemporaryFolder folder_;
  const std::string path_ = folder_.path() / "hosts";
};

TEST_F(SshHostfile, has_the_grammar_of_open_mpi) {
  EXPECT_EQ(told("# my machines\n"
                 "a slots=8 # in the cellar\n"
                 "\n"
                 "  b   slots=4 max_slots=6\r\n"
                 "c max-slots=2\n"
                 "me@d"),
            "a 8 0\nb 4 6\nc 0 2\nme@d 0 0\n");
}

TEST_F(SshHostfile, that_is_wrong_is_refused_with_its_line) {
  for (auto& [text, line, problem] :
       std::initializer_list<std::tuple<const char*, const char*, const char*>>{
         {"a slots=0\n", ":1: ", "'0' is no number of slots"},
         {"a\nb slots=\n", ":2: ", "is no number of slots"},
         {"a\n\n# c\nb slot=4\n", ":4: ", "'slot=4' is unknown"},
         {"a b\n", ":1: ", "'b' is unknown"},
         {"a\nb\na slots=2\n", ":3: ", "'a' is listed twice"},
         {"a slots=4 max_slots=2\n", ":1: ", "max_slots is less than slots"},
         {"-F/etc/evil\n", ":1: ", "is no host"}}) {
    auto error = told(text);
    EXPECT_TRUE(error.starts_with(path_ + line)) << error;
    EXPECT_TRUE(has(error, problem)) << error;
    EXPECT_TRUE(has(error, "valid: HOST [slots=N]")) << error;
  }
  EXPECT_TRUE(has(told("# nothing\n"), "it names no host")) << told("# nothing\n");
}

TEST_F(SshHostfile, that_can_not_be_read_is_an_error) {
  try {
    read_hostfile(path_);
    FAIL() << "was read";
  } catch (const SettingError& error) {
    EXPECT_TRUE(has(error.what(), path_)) << error.what();
    EXPECT_TRUE(has(error.what(), "No such file")) << error.what();
  }
}

TEST(SshCommand, asks_for_no_password_and_forwards_nothing) {
  SshCommand ssh{{"ssh", "-F", "/my/config"}, "/run/control"};
  auto words = ssh.open("a", "true");
  EXPECT_EQ(words[2], "/my/config");
  std::string all;
  for (auto& word : words)
    all += word + "\n";
  for (auto* option : {"BatchMode=yes", "ClearAllForwardings=yes", "ForwardAgent=no"})
    EXPECT_TRUE(has(all, option)) << all;
  EXPECT_FALSE(has(all, "StrictHostKeyChecking")) << "known_hosts is the user's";
  EXPECT_TRUE(all.ends_with("--\na\ntrue\n")) << all;
}

TEST(SshCommand, says_what_to_do_about_what_ssh_says) {
  const SshCommand ssh{.words = {"ssh"}, .control = {}};
  for (auto& [errors, remedy] :
       std::initializer_list<std::pair<const char*, const char*>>{
         {"Permission denied (publickey).", "ssh-copy-id me@a"},
         {"ssh: Could not resolve hostname a: Name or service not known",
          "the name is unknown"},
         {"ssh: connect to host a port 22: Connection refused", "no sshd listens"},
         {"ssh: connect to host a port 22: No route to host", "is it up?"},
         {"Host key verification failed.", "accept it once by ssh me@a"},
         {"@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @\nHost key verification "
          "failed.",
          "ssh-keygen -R "}}) {
    auto problem = ssh.problem("me@a", errors, 255);
    EXPECT_TRUE(has(problem, remedy)) << problem;
  }
  EXPECT_EQ(
    ssh.problem("a", "", 255),
    "ssh: exit code 255 (its sshd closed the connection; some servers refuse an address "
    "for a while after failed logins: wait a minute, and try ssh a)");
  EXPECT_EQ(ssh.problem("a", "something new\n\n", 255), "something new");
}

} // namespace
} // namespace fiber::backends::ssh
