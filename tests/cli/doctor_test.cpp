// SPDX-License-Identifier: Apache-2.0
// The promise: `fiber doctor` finds what keeps programs from running, and says what to
// do. Here: what needs no engine.
#include <unistd.h>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/cli/command.hpp"

namespace fiber::cli {
namespace {

using nlohmann::json;

/// Returns the check of a name.
json check(const Outcome& outcome, const std::string& name) {
  auto told = json::parse(outcome.out, nullptr, false);
  if (told.is_object())
    for (auto& each : told["checks"])
      if (each["check"] == name)
        return each;
  ADD_FAILURE() << "no check " << name << " in: " << outcome.out << outcome.err;
  return {{"state", ""}, {"detail", ""}, {"advice", ""}};
}

void expect_trouble(const Outcome& outcome, const std::string& name,
                    const std::string& problem, const std::string& advice) {
  auto found = check(outcome, name);
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(found["state"], "FAIL");
  EXPECT_NE(std::string(found["detail"]).find(problem), std::string::npos) << found;
  EXPECT_NE(std::string(found["advice"]).find(advice), std::string::npos) << found;
}

TEST(Doctor, finds_this_machine_well) {
  auto outcome = fiber_command({"doctor", "local", "--json"});
  EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  for (auto* name :
       {"shared memory", "open files", "session", "job starts", "job dials back"})
    EXPECT_EQ(check(outcome, name)["state"], "ok") << name;
}

TEST(Doctor, prints_a_line_for_each_check) {
  auto outcome = fiber_command({"doctor", "local"});
  EXPECT_NE(outcome.out.find("local       job dials back     ok"), std::string::npos)
    << outcome.out;
}

TEST(Doctor, finds_too_few_open_files) {
  auto outcome = shell("ulimit -n 50; " FIBER_COMMAND " doctor local --json");
  expect_trouble(outcome, "open files", "at most 50 open files", "ulimit -Hn");
  for (std::string backend : {"docker", "kubernetes", "slurm"})
    expect_trouble(shell("ulimit -n 80; " FIBER_COMMAND " doctor " + backend + " --json"),
                   "open files", "at most 80 open files, and 64 jobs need about",
                   "ulimit -Hn");
}

TEST(Doctor, finds_no_shared_memory) {
  if (::geteuid() != 0)
    GTEST_SKIP() << "SKIPPED: a mount namespace needs root";
  auto outcome =
    shell("unshare --mount sh -c 'mount -t tmpfs -o ro tmpfs /dev/shm && " FIBER_COMMAND
          " doctor local --json'");
  expect_trouble(outcome, "shared memory", "/dev/shm: Read-only", "mount -t tmpfs");
}

TEST(Doctor, finds_no_socket_of_an_engine) {
  auto outcome = fiber_command({"doctor", "docker", "--json"},
                               {{"DOCKER_HOST", "unix:///none/docker.sock"}});
  expect_trouble(outcome, "engine", "unix:///none/docker.sock", "systemctl start docker");
}

TEST(Doctor, finds_nobody_behind_an_address_of_an_engine) {
  auto outcome =
    fiber_command({"doctor", "docker", "--json"}, {{"DOCKER_HOST", "tcp://127.0.0.1:1"},
                                                   {"FIBER_DOCKER_ALLOW", "plaintext"}});
  expect_trouble(outcome, "engine", "tcp://127.0.0.1:1", "docker_host");
}

TEST(Doctor, finds_an_engine_that_would_be_spoken_to_in_plaintext) {
  auto outcome =
    fiber_command({"doctor", "docker", "--json"}, {{"DOCKER_HOST", "tcp://127.0.0.1:1"}});
  expect_trouble(outcome, "engine", "without TLS", "docker_allow=plaintext");
}

/// A kubeconfig with one context, for a server that is not there.
constexpr auto kubeconfig = R"(apiVersion: v1
kind: Config
current-context: here
contexts: [{name: here, context: {cluster: one, user: me, namespace: team}}]
clusters: [{name: one, cluster: {server: "https://127.0.0.1:1"}}]
users: [{name: me, user: {token: none}}]
)";

TEST(Doctor, finds_no_kubeconfig) {
  TestFolder folder;
  auto outcome = fiber_command({"doctor", "kubernetes", "--json"},
                               {{"KUBECONFIG", ""}, {"HOME", folder.path("")}});
  expect_trouble(outcome, "access", "kubeconfig", "name it with KUBECONFIG");
}

TEST(Doctor, finds_a_context_that_is_not_there) {
  TestFolder folder;
  folder.write("config", kubeconfig);
  auto outcome = fiber_command(
    {"doctor", "kubernetes", "--json"},
    {{"KUBECONFIG", folder.path("config")}, {"FIBER_KUBERNETES_CONTEXT", "elsewhere"}});
  expect_trouble(outcome, "access", "elsewhere", "kubectl config get-contexts");
}

TEST(Doctor, finds_an_api_server_that_does_not_answer) {
  TestFolder folder;
  folder.write("config", kubeconfig);
  auto outcome = fiber_command({"doctor", "kubernetes", "--json"},
                               {{"KUBECONFIG", folder.path("config")}});
  EXPECT_EQ(check(outcome, "access")["state"], "ok");
  expect_trouble(outcome, "API server", "https://127.0.0.1:1", "kubectl config view");
}

TEST(Doctor, checks_what_it_detects) {
  TestFolder folder;
  folder.write("config", kubeconfig);
  auto outcome =
    fiber_command({"doctor", "--json"}, {{"KUBECONFIG", folder.path("config")}});
  EXPECT_EQ(check(outcome, "shared memory")["engine"], "local");
  EXPECT_EQ(check(outcome, "access")["engine"], "kubernetes");
}

} // namespace
} // namespace fiber::cli
