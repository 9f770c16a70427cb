// SPDX-License-Identifier: Apache-2.0
// The promise: `fiber run` on this machine shows the program's output, gives its exit
// code and passes signals on.
#include <csignal>
#include <filesystem>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/cli/command.hpp"
#include "tests/cli/fake_engine.hpp"

namespace fiber::cli {
namespace {

TEST(Run, shows_the_output_of_a_program_and_its_jobs) {
  auto outcome = fiber_command(
    {"run", "--backend", "local", "--", CLI_PROGRAM, "sum", "4", "err", "oops"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "sum 168\n");
  EXPECT_EQ(outcome.err, "oops\n");
}

TEST(Run, gives_the_exit_code_of_the_program) {
  EXPECT_EQ(fiber_command({"run", "--", CLI_PROGRAM, "exit", "7"}).code, 7);
  EXPECT_EQ(fiber_command({"run", "--", "sh", "-c", "kill -TERM $$"}).code,
            128 + SIGTERM);
}

TEST(Run, sets_the_backend_and_the_variables) {
  auto outcome =
    fiber_command({"run", "--backend", "inline", "--env", "ONE=1", "--env", "TWO", "--",
                   CLI_PROGRAM, "env", "FIBER_BACKEND", "env", "ONE", "env", "TWO"},
                  {{"TWO", "2"}});
  EXPECT_EQ(outcome.out, "FIBER_BACKEND=inline\nONE=1\nTWO=2\n");
}

TEST(Run, asks_the_program_to_stop_at_the_first_signal) {
  Command command(
    {"run", "--", "sh", "-c",
     "trap 'echo asked; exit 4' INT; echo ready; while :; do sleep 0.02; done"});
  ASSERT_TRUE(command.says("ready"));
  command.signal(SIGINT);
  auto outcome = command.wait();
  EXPECT_EQ(outcome.code, 4);
  EXPECT_EQ(outcome.out, "ready\nasked\n");
}

TEST(Run, stops_everything_at_the_second_signal) {
  Command command({"run", "--", "sh", "-c",
                   "trap 'echo asked' INT; echo ready; while :; do sleep 0.02; done"});
  ASSERT_TRUE(command.says("ready"));
  command.signal(SIGINT);
  ASSERT_TRUE(command.says("asked"));
  command.signal(SIGINT);
  EXPECT_EQ(command.wait().code, 128 + SIGKILL);
}

TEST(Run, leaves_a_detached_program_running_and_says_where_its_output_is) {
  TestFolder folder;
  auto outcome =
    shell("cd " + folder.path("") +
          " && " FIBER_COMMAND
          " run --detach --json --name job -- sh -c 'echo begun; exec sleep 1000'");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  auto told = nlohmann::json::parse(outcome.out);
  auto pid = told["pid"].get<pid_t>();
  EXPECT_EQ(told["log"], folder.path("job.log"));
  EXPECT_EQ(std::filesystem::status(folder.path("job.log")).permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  EXPECT_EQ(
    shell("until grep -q begun " + folder.path("job.log") + "; do sleep 0.02; done").code,
    0);
  EXPECT_EQ(::kill(pid, SIGKILL), 0);
}

TEST(Run, carries_nothing_of_this_machine_to_an_engine) {
  FakeEngine engine;
  auto variables = engine.variables();
  variables["FIBER_LEASE"] = "77s";
  for (std::string name : {"REPORT", "TRACE", "METRICS", "DASHBOARD", "DASHBOARD_TOKEN",
                           "DASHBOARD_CERTIFICATE", "DASHBOARD_KEY"})
    variables["FIBER_" + name] = "0123456789-0123456789";
  for (std::string name : {"METRICS", "DASHBOARD"})
    variables["FIBER_" + name] = "127.0.0.1:1";
  auto outcome = fiber_command(
    {"run", "--backend", "docker", "--detach", "--image", "a:1", "--", "program"},
    variables);
  ASSERT_EQ(engine.created().size(), 1u) << outcome.err;
  auto environment = engine.created().front()["Env"].dump();
  // The address of the page is for kubectl port-forward and its like.
  for (auto* kept : {"FIBER_LEASE=77", "FIBER_DASHBOARD=127.0.0.1:1"})
    EXPECT_NE(environment.find(kept), std::string::npos) << environment;
  for (auto* name : {"FIBER_REPORT", "FIBER_TRACE", "FIBER_METRICS", "FIBER_DASHBOARD_"})
    EXPECT_EQ(environment.find(name), std::string::npos) << environment;
}

TEST(Run, gives_jobs_no_volume_that_is_a_folder_with_an_engines_socket) {
  FakeEngine engine;
  engine.about["Options"] = {{"type", "none"}, {"o", "bind"}, {"device", "/var/run/"}};
  auto variables = engine.variables();
  variables["FIBER_BACKEND"] = "docker";
  variables["FIBER_IMAGE"] = "a:1";
  variables["FIBER_DOCKER_VOLUMES"] = "named:/data";
  auto outcome = shell(CLI_PROGRAM " sum 2", variables);
  EXPECT_NE(outcome.code, 0);
  EXPECT_NE((outcome.out + outcome.err)
              .find("use docker_volumes named:/data: it would "
                    "give jobs the socket"),
            std::string::npos)
    << outcome.out << outcome.err;
  EXPECT_EQ(engine.created().size(), 0u);
}

TEST(Run, takes_no_program_from_the_current_folder_unless_told) {
  TestFolder folder;
  folder.write("evil", "#!/bin/sh\n");
  std::filesystem::permissions(folder.path("evil"), std::filesystem::perms::owner_all);
  for (std::string path : {":/usr/bin", "/usr/bin::/bin", "/usr/bin:", ".:/usr/bin"}) {
    auto outcome = shell("cd " + folder.path("") + " && PATH=" + path +
                         " " FIBER_COMMAND " run -- evil");
    EXPECT_EQ(outcome.code, 1) << path;
    EXPECT_NE(outcome.err.find("write ./evil"), std::string::npos) << outcome.err;
  }
}

TEST(Run, names_the_session_as_its_driver) {
  auto named = [](const std::vector<std::string>& options) {
    std::vector<std::string> words{"run"};
    words.insert(words.end(), options.begin(), options.end());
    words.insert(words.end(), {"--", "sh", "-c", "echo $FIBER_NAME"});
    return fiber_command(words).out;
  };
  EXPECT_EQ(named({"--name", "train"}), "train\n");
  EXPECT_EQ(named({"--name", "train", "--env", "FIBER_NAME=other"}), "other\n");
  EXPECT_EQ(named({"--name", "train%1"}), "\n"); // No name of a session.
}

TEST(Run, says_what_is_wrong_with_the_request) {
  TestFolder folder;
  folder.write("text", "no program");
  Command missing({"run", "--", "./none"});
  auto here = missing.folder().string();
  EXPECT_EQ(missing.wait().err, "fiber: there is no program ./none in " + here + "\n");
  EXPECT_EQ(fiber_command({"run", "--", folder.path("none")}).err,
            "fiber: there is no program " + folder.path("none") + "\n");
  EXPECT_EQ(fiber_command({"run", "--", "/tmp/"}).err,
            "fiber: /tmp/ is a folder, not a program\n");
  EXPECT_EQ(fiber_command({"run", "--", folder.path("text")}).err,
            "fiber: " + folder.path("text") +
              " may not be run; if it is a program, chmod +x " + folder.path("text") +
              "\n");
  EXPECT_EQ(fiber_command({"run", "--", "no-such-program"}).err,
            "fiber: there is no program no-such-program in $PATH; for one in this folder "
            "write ./no-such-program\n");
  EXPECT_EQ(
    fiber_command({"run", "--backend", "local", "--cpu", "2", "--", "true"}).err,
    "fiber: --cpu is for engines that limit what a program uses; on local it runs as "
    "it is\n");
  EXPECT_EQ(fiber_command({"run", "--push", "--", "true"}).err,
            "fiber: --push pushes the image that --build makes; give --build too\n");
  EXPECT_EQ(fiber_command({"run", "--memory", "much", "--", "true"}).err,
            "fiber: --memory much: wanted are megabytes, or a size such as 512M or 2G\n");
  EXPECT_EQ(fiber_command({"run", "--backend", "docker", "--", "true"},
                          {{"DOCKER_HOST", "unix:///none"}})
              .code,
            1);
}

} // namespace
} // namespace fiber::cli
