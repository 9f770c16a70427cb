// SPDX-License-Identifier: Apache-2.0
// Promise: `fiber` finds every session of its user, however the session fares, and none
// other.
#include <algorithm>
#include <csignal>
#include <string>

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/cli/world.hpp"

namespace fiber::cli {
namespace {

enum class Answered { yes, no, unreachable };

/// Asks the session at this socket in a process of that user.
Answered answer_as(uid_t user, const std::string& path) {
  auto pid = ::fork();
  if (pid == 0) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    auto socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
    std::string request = "{\"op\":\"status\"}\n";
    if (::setuid(user) != 0 ||
        ::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
      ::_exit(static_cast<int>(Answered::unreachable));
    ::send(socket, request.data(), request.size(), MSG_NOSIGNAL);
    char c = 0;
    ::_exit(static_cast<int>(::read(socket, &c, 1) == 1 ? Answered::yes : Answered::no));
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  return static_cast<Answered>(WEXITSTATUS(status));
}

class Sessions : public World {};

TEST_F(Sessions, are_listed_with_what_they_are) {
  auto& driver = start("train", {"work", "2"});
  auto list = ps();
  ASSERT_EQ(list.size(), 1U);
  EXPECT_EQ(list[0]["name"], "train");
  EXPECT_EQ(list[0]["pid"], driver.pid());
  EXPECT_EQ(list[0]["program"], CLI_DRIVER);
  EXPECT_EQ(list[0]["backend"], "local");
  EXPECT_EQ(list[0]["workers_up"], 2);
  EXPECT_EQ(list[0]["workers_wanted"], 2);
  EXPECT_EQ(list[0]["jobs"], 3); // Two workers and the job of the supervised object.
  EXPECT_TRUE(wait_until([&] { return ps()[0]["done"] > 0; }));
  auto table = fiber({"ps"});
  EXPECT_EQ(table.code, 0);
  EXPECT_TRUE(has(table.out, "NAME")) << table.out;
  EXPECT_TRUE(has(table.out, "train")) << table.out;
  EXPECT_TRUE(has(table.out, "cli_driver  local")) << table.out;
  EXPECT_TRUE(has(table.out, "2/2")) << table.out;
}

TEST_F(Sessions, without_a_name_are_called_by_program_and_pid) {
  auto& driver = start("", {"idle"}, {{"FIBER_BACKEND", "inline"}});
  EXPECT_EQ(ps()[0]["name"], "cli_driver-" + driver.id());
}

TEST_F(Sessions, are_shown_with_the_address_of_their_page) {
  start("train", {"idle"},
        {{"FIBER_BACKEND", "inline"}, {"FIBER_DASHBOARD", "127.0.0.1:0"}});
  for (auto& words : std::vector<std::vector<std::string>>{{"status", "train"},
                                                           {"top", "train", "--once"}}) {
    auto shown = fiber(words);
    EXPECT_TRUE(has(shown.out, "live page: http://127.0.0.1:")) << shown.out;
    EXPECT_TRUE(has(shown.out, "/?token=")) << shown.out;
  }
  EXPECT_FALSE(has(fiber({"status", "train", "--json"}).out, "token"));
}

TEST_F(Sessions, that_are_none_are_no_error) {
  auto none = fiber({"ps"});
  EXPECT_EQ(none.code, 0);
  EXPECT_TRUE(has(none.out, "no sessions")) << none.out;
  EXPECT_EQ(ps().size(), 0U);
}

TEST_F(Sessions, are_asked_by_a_relay_beside_them) {
  auto none = relay(R"({"op":"status"})");
  EXPECT_EQ(none.code, 1);
  EXPECT_EQ(none.errors, "no session of Fiber listens here\n");
  start("train", {"idle"}, {{"FIBER_BACKEND", "inline"}});
  auto told = relay(R"({"op":"status"})"); // The program's main() would print "ready".
  EXPECT_EQ(told.code, 0) << told.errors;
  EXPECT_EQ(told.json()["session"]["name"], "train");
}

TEST_F(Sessions, have_sockets_for_their_user_only) {
  start("train", {"idle"}, {{"FIBER_BACKEND", "inline"}});
  struct stat status {};
  ASSERT_EQ(::stat(folder().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700U);
  ASSERT_EQ(sockets().size(), 1U);
  ASSERT_EQ(::stat(sockets()[0].c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);
}

TEST_F(Sessions, that_were_killed_leave_a_socket_that_ps_removes) {
  auto& driver = start("train", {"idle"}, {{"FIBER_BACKEND", "inline"}});
  driver.send(SIGKILL);
  driver.await_end();
  EXPECT_EQ(sockets().size(), 1U);
  EXPECT_EQ(ps().size(), 0U);
  EXPECT_EQ(sockets().size(), 0U);
}

TEST_F(Sessions, that_are_stopped_do_not_hold_up_the_others) {
  auto& stopped = start("stopped", {"idle"}, {{"FIBER_BACKEND", "inline"}});
  start("train", {"idle"}, {{"FIBER_BACKEND", "inline"}});
  stopped.send(SIGSTOP);
  ASSERT_EQ(::waitpid(stopped.pid(), nullptr, WUNTRACED), stopped.pid());
  auto list = ps();
  ASSERT_EQ(list.size(), 2U);
  EXPECT_EQ(list[0]["name"], "stopped");
  EXPECT_EQ(list[0]["answers"], false);
  EXPECT_EQ(list[1]["answers"], true);
  EXPECT_TRUE(has(fiber({"ps"}).out, "not answering (stopped)"));
  auto status = fiber({"status", "stopped"});
  EXPECT_EQ(status.code, 1);
  EXPECT_TRUE(has(status.errors, "does not answer: it is stopped")) << status.errors;
  stopped.send(SIGCONT);
  EXPECT_TRUE(wait_until([&] { return ps()[0]["answers"] == true; }));
}

TEST_F(Sessions, are_found_by_the_first_letters_of_their_name) {
  start("alpha", {"idle"}, {{"FIBER_BACKEND", "inline"}});
  start("beta", {"idle"}, {{"FIBER_BACKEND", "inline"}});
  EXPECT_EQ(status("al")["session"]["name"], "alpha");
  auto unknown = fiber({"status", "gamma"});
  EXPECT_EQ(unknown.code, 1);
  EXPECT_TRUE(has(unknown.errors, "no session \"gamma\"; there are: alpha, beta"))
    << unknown.errors;
}

TEST_F(Sessions, of_one_name_are_told_apart_by_pid) {
  auto& first = start("train", {"idle"}, {{"FIBER_BACKEND", "inline"}});
  auto& second = start("train", {"idle"}, {{"FIBER_BACKEND", "inline"}});
  EXPECT_EQ(ps().size(), 2U);
  auto both = fiber({"status", "train"});
  EXPECT_EQ(both.code, 1);
  EXPECT_TRUE(has(both.errors, "train:" + first.id())) << both.errors;
  EXPECT_TRUE(has(both.errors, "train:" + second.id())) << both.errors;
  EXPECT_EQ(status("train:" + second.id())["session"]["pid"], second.pid());
}

TEST_F(Sessions, can_be_fifty) {
  for (int i = 0; i < 50; ++i)
    start("s" + std::to_string(i), {"idle"}, {{"FIBER_BACKEND", "inline"}});
  auto list = ps();
  ASSERT_EQ(list.size(), 50U);
  for (auto& session : list)
    EXPECT_EQ(session["answers"], true) << session;
}

TEST_F(Sessions, do_not_listen_if_they_were_told_so) {
  start("train", {"idle"}, {{"FIBER_BACKEND", "inline"}, {"FIBER_OBSERVE", "off"}});
  EXPECT_EQ(ps().size(), 0U);
  EXPECT_EQ(sockets().size(), 0U);
}

TEST_F(Sessions, are_found_if_the_runtime_folder_is_missing) {
  start("train", {"idle"},
        {{"FIBER_BACKEND", "inline"}, {"XDG_RUNTIME_DIR", "/proc/none"}});
  auto shown = ps(); // It listens in /tmp/fiber-UID.
  ASSERT_EQ(shown.size(), 1U);
  EXPECT_EQ(shown[0]["name"], "train");
}

TEST_F(Sessions, are_not_looked_for_in_a_folder_that_others_can_enter) {
  start("train", {"idle"}, {{"FIBER_BACKEND", "inline"}});
  ::chmod(folder().c_str(), 0755);
  auto listed = fiber({"ps"});
  EXPECT_EQ(listed.code, 0);
  EXPECT_FALSE(has(listed.out, "train")) << listed.out;
  EXPECT_TRUE(has(listed.errors, folder() + " is left out: others can enter it"))
    << listed.errors;
}

TEST_F(Sessions, are_found_though_another_user_has_taken_the_folder_in_tmp) {
  if (::geteuid() != 0)
    GTEST_SKIP() << "SKIPPED: only root can give a folder away";
  auto& driver = start("train", {"idle"}, {{"FIBER_BACKEND", "inline"}});
  auto listed = with_squatted_folder({FIBER_COMMAND, "ps"});
  EXPECT_EQ(listed.code, 0);
  EXPECT_TRUE(has(listed.out, "train")) << listed.out;
  EXPECT_TRUE(has(listed.errors, "fiber: warning: ")) << listed.errors;
  EXPECT_TRUE(has(listed.errors, " is left out: it belongs to user 65534"))
    << listed.errors;
  EXPECT_EQ(std::ranges::count(listed.errors, '\n'), 1) << listed.errors;
  auto stopped = with_squatted_folder({FIBER_COMMAND, "stop", "train"});
  EXPECT_EQ(stopped.code, 0) << stopped.errors;
  driver.await_end();
}

TEST_F(Sessions, that_have_no_folder_say_what_does_not_work) {
  if (::geteuid() != 0)
    GTEST_SKIP() << "SKIPPED: only root can give a folder away";
  auto run = with_squatted_folder({"/usr/bin/env", "-u", "XDG_RUNTIME_DIR",
                                   "FIBER_BACKEND=inline", CLI_DRIVER, "once"});
  EXPECT_EQ(run.code, 0) << run.errors;
  EXPECT_EQ(std::ranges::count(run.errors, '\n'), 1) << run.errors;
  for (auto* part : {"warning: ", "`fiber ps`", "`fiber kill`", "/tmp/fiber-",
                     "it belongs to user 65534"})
    EXPECT_TRUE(has(run.errors, part)) << part << '\n' << run.errors;
}

TEST_F(Sessions, do_not_answer_another_user) {
  if (::geteuid() != 0)
    GTEST_SKIP() << "SKIPPED: only root can become another user";
  constexpr uid_t nobody = 65534;
  start("train", {"idle"}, {{"FIBER_BACKEND", "inline"}});
  auto path = sockets().at(0);
  // All doors are open, so that only the session itself can refuse.
  ::chmod(root().c_str(), 0755);
  ::chmod(folder().c_str(), 0755);
  ::chmod(path.c_str(), 0666);
  EXPECT_EQ(answer_as(0, path), Answered::yes);
  EXPECT_EQ(answer_as(nobody, path), Answered::no);
}

} // namespace
} // namespace fiber::cli
