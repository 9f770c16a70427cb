// SPDX-License-Identifier: Apache-2.0
// The promise: on a real engine `fiber run` starts a driver that starts its workers,
// `fiber cp` copies to volumes and from them, and `fiber doctor` finds what is broken.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <optional>
#include <thread>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/cli/command.hpp"
#include "tests/cli/crashed_driver.hpp"
#include "tests/cli/detached_driver.hpp"
#include "tests/clusters/cluster.hpp"
#include "tests/clusters/docker_view.hpp"

namespace fiber::cli {
namespace {

using nlohmann::json;

class DockerCommand : public testing::Test {
protected:
  void SetUp() override {
    if (!clusters::docker())
      GTEST_SKIP() << "SKIPPED: no engine is up";
    before_ = engine().containers();
  }

  static std::string host() { return clusters::docker()->at("DOCKER_HOST"); }

  static Outcome run(Words words, Variables variables = {}) {
    variables["DOCKER_HOST"] = host();
    return fiber_command(words, variables);
  }

  /// Runs the tests' driver, of an image that has it.
  static Words driver(const Words& words, const Words& options = {}) {
    Words all{"run", "--backend", "docker", "--image",
              "localhost/fiber-test:cli_run_program"};
    all.insert(all.end(), options.begin(), options.end());
    all.insert(all.end(), {"--", "cli_run_program"});
    all.insert(all.end(), words.begin(), words.end());
    return all;
  }

  /// Checks the engine with an image of this very command.
  static Outcome doctor(const Variables& variables = {}, const Words& options = {}) {
    Words all{"doctor", "docker", "--json", "--image",
              "localhost/fiber-test:fiber_command"};
    all.insert(all.end(), options.begin(), options.end());
    return run(all, variables);
  }

  static json check(const Outcome& outcome, const std::string& name) {
    auto told = json::parse(outcome.out, nullptr, false);
    if (told.is_object())
      for (auto& each : told["checks"])
        if (each["check"] == name)
          return each;
    ADD_FAILURE() << "no check " << name << " in: " << outcome.out << outcome.err;
    return {{"state", ""}, {"detail", ""}, {"advice", ""}};
  }

  static void expect_trouble(const Outcome& outcome, const std::string& name,
                             const std::string& problem, const std::string& advice) {
    auto found = check(outcome, name);
    EXPECT_EQ(outcome.code, 1);
    EXPECT_EQ(found["state"], "FAIL");
    EXPECT_NE(std::string(found["detail"]).find(problem), std::string::npos) << found;
    EXPECT_NE(std::string(found["advice"]).find(advice), std::string::npos) << found;
  }

  /// Those that other tests have left are not looked at.
  Words containers() {
    auto all = engine().containers();
    std::erase_if(all, [this](auto& id) { return std::ranges::count(before_, id) > 0; });
    return all;
  }

  bool none_is_left() {
    auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!containers().empty() && std::chrono::steady_clock::now() < end)
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return containers().empty();
  }

  clusters::DockerView& engine() {
    if (!engine_)
      engine_.emplace(host());
    return *engine_;
  }

private:
  std::optional<clusters::DockerView> engine_;
  Words before_;
};

TEST_F(DockerCommand, makes_an_image_of_a_driver_and_runs_it_with_its_workers) {
  auto outcome = run({"run", "--backend", "docker", "--build", "--", CLI_PROGRAM, "sum",
                      "4", "err", "oops", "exit", "3"});
  EXPECT_EQ(outcome.code, 3) << outcome.err;
  EXPECT_EQ(outcome.out, "sum 168\n");
  EXPECT_EQ(outcome.err, "oops\n");
  EXPECT_TRUE(none_is_left());
}

TEST_F(DockerCommand, a_driver_sees_volumes_variables_and_limits) {
  TestFolder folder;
  folder.write("note", "a note");
  auto outcome = run(driver({"read", "/data/note", "env", "ONE", "env", "FIBER_LEASE"},
                            {"--volume", folder.path("") + ":/data:ro", "--env", "ONE=1",
                             "--memory", "256M", "--cpu", "0.5"}),
                     {{"FIBER_LEASE", "40s"}});
  EXPECT_EQ(outcome.out, "a noteONE=1\nFIBER_LEASE=40s\n") << outcome.err;
}

TEST_F(DockerCommand, a_driver_has_the_user_of_the_settings) {
  auto usual = run(driver({"read", "/proc/self/status"}));
  EXPECT_NE(usual.out.find("Uid:\t65532\t"), std::string::npos) << usual.out << usual.err;
  auto root = run(driver({"read", "/proc/self/status"}), {{"FIBER_DOCKER_USER", "root"}});
  EXPECT_NE(root.out.find("Uid:\t0\t"), std::string::npos) << root.out << root.err;
}

TEST_F(DockerCommand, a_signal_stops_the_driver_and_its_workers) {
  Command command(driver({"wait", "1"}), {{"DOCKER_HOST", host()}});
  ASSERT_TRUE(command.says("waiting 2"));
  EXPECT_EQ(containers().size(), 1u);
  command.signal(SIGINT);
  auto outcome = command.wait();
  EXPECT_EQ(outcome.code, 128 + SIGINT);
  EXPECT_EQ(outcome.err,
            "fiber: asked the program to stop; the next signal stops everything\n");
  EXPECT_TRUE(none_is_left());
}

TEST_F(DockerCommand, a_detached_driver_has_the_given_name) {
  auto outcome = run(driver({"wait", "1"}, {"--detach", "--json", "--name", "cli-test"}));
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  auto id = std::string(json::parse(outcome.out)["id"]);
  EXPECT_EQ(engine().inspect(id)["Name"], "/cli-test");
  engine().remove(id);
}

TEST_F(DockerCommand, verbs_reach_a_detached_driver_and_stop_ends_it) {
  auto outcome = run(driver({"wait", "1"}, {"--detach", "--name", "cli-docker"}));
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("fiber stop cli-docker ends it and its workers"),
            std::string::npos)
    << outcome.out;
  DetachedDriver driver("cli-docker", {{"DOCKER_HOST", host()}});
  driver.expect_seen("docker", "container ");
  driver.end_by("stop");
  EXPECT_EQ(engine().inspect("cli-docker")["State"]["Running"], false);
  engine().remove("cli-docker");
  EXPECT_TRUE(none_is_left()); // Its worker neither.
  driver.expect_unlisted();
}

TEST_F(DockerCommand, kill_ends_a_detached_driver_and_its_workers) {
  ASSERT_EQ(run(driver({"wait", "1"}, {"--detach", "--name", "cli-docker"})).code, 0);
  DetachedDriver driver("cli-docker", {{"DOCKER_HOST", host()}});
  EXPECT_EQ(containers().size(), 1U); // Of its worker.
  driver.end_by("kill");
  driver.expect_unlisted();
  engine().remove("cli-docker");
  EXPECT_TRUE(none_is_left());
}

TEST_F(DockerCommand, a_paused_driver_does_not_hold_up_ps_and_is_killed) {
  ASSERT_EQ(run(driver({"wait", "1"}, {"--detach", "--name", "cli-docker"})).code, 0);
  DetachedDriver driver("cli-docker", {{"DOCKER_HOST", host()}});
  ASSERT_EQ(engine().order("cli-docker", "pause"), 204);
  EXPECT_EQ(driver.listed()["answers"], false);
  auto killed = run({"kill", "cli-docker"});
  EXPECT_EQ(killed.code, 0) << killed.err;
  engine().remove("cli-docker");
  EXPECT_TRUE(none_is_left());
}

TEST_F(DockerCommand, an_image_is_needed) {
  auto outcome = run({"run", "--backend", "docker", "--", CLI_PROGRAM});
  EXPECT_NE(outcome.err.find("--build to make one"), std::string::npos) << outcome.err;
}

TEST_F(DockerCommand, copies_a_folder_to_a_volume_and_back) {
  TestFolder folder;
  folder.write("one/a.txt", "first");
  folder.write("one/b/c.txt", std::string("\0\1\2", 3));
  engine().ask("POST", "/volumes/create", {{"Name", "cli-test"}});
  auto there = run({"cp", folder.path("one"), "docker:cli-test:/x/y"});
  EXPECT_EQ(there.code, 0) << there.err;
  EXPECT_EQ(run({"cp", "--backend", "docker", "cli-test:/x/y", folder.path("two")}).code,
            0);
  EXPECT_EQ(folder.read("two/a.txt"), "first");
  EXPECT_EQ(folder.read("two/b/c.txt"), std::string("\0\1\2", 3));
  EXPECT_EQ(run({"cp", folder.path("one/a.txt"), "docker:cli-test:/x"}).code,
            0); // Lands in the folder.
  EXPECT_EQ(run({"cp", "docker:cli-test:/x/a.txt", folder.path("back.txt")}).code, 0);
  EXPECT_EQ(folder.read("back.txt"), "first");
  EXPECT_EQ(run({"cp", "docker:cli-test:/none", folder.path("none")}).err,
            "fiber: volume cli-test has no /none\n");
  engine().ask("DELETE", "/volumes/cli-test");
}

TEST_F(DockerCommand, a_volume_that_is_not_there_is_an_error) {
  auto outcome = run({"cp", FIBER_COMMAND, "docker:cli-none:/x"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.err.find("there is no volume cli-none"), std::string::npos)
    << outcome.err;
}

TEST_F(DockerCommand, doctor_finds_a_good_engine_well) {
  auto outcome = run({"doctor", "docker", "--json"});
  EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  EXPECT_EQ(check(outcome, "job dials back")["state"], "ok");
}

TEST_F(DockerCommand, doctor_compares_the_program_in_an_image) {
  auto same = doctor({}, {"--program", FIBER_COMMAND});
  EXPECT_EQ(same.code, 0) << same.out;
  EXPECT_EQ(check(same, "program in image")["state"], "ok");
  auto other = doctor({}, {"--program", CLI_PROGRAM});
  expect_trouble(other, "program in image", "is build",
                 "--build --image localhost/fiber-test:fiber_command");
}

TEST_F(DockerCommand, doctor_finds_a_missing_image) {
  auto outcome = run({"doctor", "docker", "--json", "--image", "localhost:1/none:1"});
  expect_trouble(outcome, "image", "localhost:1/none:1 is not on the engine",
                 "fiber run --backend docker --build");
}

TEST_F(DockerCommand, doctor_finds_a_missing_program) {
  ASSERT_EQ(clusters::run_script(clusters::docker(),
                                 "load localhost/cli-broken:1 " CLI_PROGRAM " /none"),
            0);
  auto outcome = run({"doctor", "docker", "--json", "--image", "localhost/cli-broken:1"});
  expect_trouble(outcome, "program in image",
                 "localhost/cli-broken:1 has no /none, which is its entrypoint",
                 "make the image again");
}

TEST_F(DockerCommand, kill_removes_the_containers_of_a_crashed_driver) {
  CrashedDriver driver({"wait", "1"}, "waiting 2",
                       {{"FIBER_BACKEND", "docker"},
                        {"DOCKER_HOST", host()},
                        {"FIBER_IMAGE", "localhost/fiber-test:cli_run_program"}});
  auto session = driver.session();
  auto containers = engine().containers(session);
  ASSERT_EQ(containers.size(), 1U);
  // So it can't notice that its driver is gone.
  ASSERT_EQ(engine().order(containers[0], "pause"), 204);
  driver.crash();
  auto shown = driver.await([](auto& one) { return one["crashed"] == true; });
  EXPECT_EQ(shown["backend"], "docker");
  EXPECT_EQ(shown["left"], json({"container " + containers[0].substr(0, 12)}));
  auto killed = driver.fiber({"kill", "crashed"});
  EXPECT_EQ(killed.code, 0) << killed.err;
  EXPECT_NE(killed.out.find("removed: container "), std::string::npos) << killed.out;
  EXPECT_TRUE(engine().containers(session).empty());
  EXPECT_EQ(driver.ps().size(), 0U);
}

TEST_F(DockerCommand, doctor_finds_an_address_that_jobs_cannot_reach) {
  auto outcome =
    doctor({{"FIBER_ADVERTISE_ADDRESS", "192.0.2.1"}}, // Reserved for examples.
           {"--deadline", "4"});
  EXPECT_EQ(check(outcome, "job starts")["state"], "ok");
  expect_trouble(outcome, "job dials back", "has not connected", "advertise_address");
}

TEST_F(DockerCommand, doctor_finds_a_network_that_is_not_there) {
  auto outcome = doctor({{"FIBER_DOCKER_NETWORK", "cli-none"}});
  expect_trouble(outcome, "session", "cli-none", "docker network ls");
}

TEST_F(DockerCommand, doctor_finds_a_socket_that_is_not_allowed) {
  auto outcome =
    Command({"doctor", "docker", "--json"}, {{"DOCKER_HOST", host()}}, true).wait();
  expect_trouble(outcome, "engine", "Permission denied", "usermod -aG");
}

} // namespace
} // namespace fiber::cli

int main(int argc, char** argv) {
  fiber::clusters::enter_network(fiber::clusters::docker(), "DOCKER_NETNS");
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
