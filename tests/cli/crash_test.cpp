// SPDX-License-Identifier: Apache-2.0
// The promise: `fiber` shows what a driver has left on this machine that was killed, and
// removes it; a driver that ends in order leaves nothing to remove.
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "tests/cli/crashed_driver.hpp"

namespace fiber::cli {
namespace {

using nlohmann::json;

bool is_crashed(const json& session) {
  return session["crashed"] == true;
}

/// Its task has started a program that outlives the worker.
CrashedDriver driver_with_a_program() {
  return {{"leave", "1"}, "has left", {{"FIBER_BACKEND", "local"}}};
}

/// Slurm's commands, for a queue with one job of the driver's session. Note and queue are
/// the driver's only link to Slurm: it has run here.
class FakeSlurm {
public:
  explicit FakeSlurm(const CrashedDriver& driver) {
    folder_.write("queue", "17 fiber-" + driver.session() + ".w0\n18 other\n");
    command("squeue", "cat " + folder_.path("queue"));
    command("scancel", "echo \"$@\" >>" + folder_.path("cancelled") + "; : >" +
                         folder_.path("queue"));
    folder_.write("sessions/" + driver.session() + "/log", "");
    driver.lead_to("slurm", {{"FIBER_SLURM_DIRECTORY", folder_.path("sessions")}});
  }

  void command(const std::string& name, const std::string& script) const {
    folder_.write("bin/" + name, "#!/bin/sh\n" + script + "\n");
    std::filesystem::permissions(folder_.path("bin/" + name),
                                 std::filesystem::perms(0755));
  }
  Variables variables() const {
    return {{"PATH", folder_.path("bin") + ":" + std::getenv("PATH")}};
  }
  std::string cancelled() const { return folder_.read("cancelled"); }
  bool has_folders() const {
    return !std::filesystem::is_empty(folder_.path("sessions"));
  }

private:
  TestFolder folder_;
};

TEST(CrashedDrivers, leave_programs_of_tasks_that_kill_ends) {
  auto driver = driver_with_a_program();
  EXPECT_EQ(driver.ps()[0]["crashed"], false);
  driver.crash();
  auto shown =
    driver.await([](auto& one) { return is_crashed(one) && one["left"].size() == 1; });
  EXPECT_EQ(shown["name"], "crashed");
  EXPECT_EQ(shown["pid"], driver.pid());
  EXPECT_EQ(shown["backend"], "local");
  EXPECT_NE(shown["left"][0].get<std::string>().find("(sleep)"), std::string::npos)
    << shown;
  EXPECT_NE(driver.fiber({"ps"}).out.find("crashed, left 1 "), std::string::npos);
  auto status = driver.fiber({"status", "crashed"});
  EXPECT_EQ(status.code, 1);
  EXPECT_NE(status.err.find("has crashed; `fiber kill crashed` removes what it left"),
            std::string::npos)
    << status.err;
  auto killed = driver.fiber({"kill", "crashed"});
  EXPECT_EQ(killed.code, 0) << killed.err;
  EXPECT_NE(killed.out.find("had crashed; removed: process"), std::string::npos)
    << killed.out;
  EXPECT_EQ(driver.ps().size(), 0U);
  EXPECT_EQ(driver.files(), "");
}

TEST(CrashedDrivers, are_cleaned_up_after_by_stop_too) {
  auto driver = driver_with_a_program();
  driver.crash();
  driver.await([](auto& one) { return is_crashed(one) && one["left"].size() == 1; });
  auto stopped = driver.fiber({"stop", "crashed", "--json"});
  EXPECT_EQ(stopped.code, 0) << stopped.err;
  auto told = json::parse(stopped.out);
  EXPECT_EQ(told["crashed"], true);
  EXPECT_EQ(told["removed"].size(), 1U);
  EXPECT_EQ(driver.files(), "");
}

TEST(CrashedDrivers, that_left_nothing_are_forgotten) {
  CrashedDriver driver({"wait", "1"}, "waiting", {{"FIBER_BACKEND", "local"}});
  driver.crash();
  // Its workers end by themselves.
  EXPECT_EQ(driver.fiber({"ps", "--json"}).code, 0);
  EXPECT_TRUE(wait_for([&] {
    driver.ps();
    return driver.files().empty();
  }))
    << driver.files();
}

TEST(CrashedDrivers, are_not_those_that_end_in_order) {
  CrashedDriver driver({"sum", "4"}, "sum 168", {{"FIBER_BACKEND", "local"}});
  // Its note goes with its backend. `fiber ps`, which would remove it, is not called.
  EXPECT_TRUE(wait_for([&] { return driver.files().empty(); })) << driver.files();
}

TEST(CrashedDrivers, whose_engine_is_away_stay_known) {
  auto driver = driver_with_a_program();
  driver.crash();
  driver.await([](auto& one) { return is_crashed(one) && one["left"].size() == 1; });
  driver.lead_to("docker", {{"DOCKER_HOST", "unix:///nowhere/docker.sock"}});
  auto shown = driver.ps()[0];
  EXPECT_TRUE(is_crashed(shown));
  EXPECT_NE(shown["problem"].get<std::string>().find("/nowhere/docker.sock"),
            std::string::npos)
    << shown;
  auto refused = driver.fiber({"kill", "crashed"});
  EXPECT_EQ(refused.code, 1);
  EXPECT_NE(refused.err.find("if its engine is gone for good, remove "),
            std::string::npos)
    << refused.err;
  driver.lead_to("local", {});
  EXPECT_EQ(driver.fiber({"kill", "crashed"}).code, 0);
}

TEST(CrashedDrivers, whose_engine_hangs_do_not_keep_ps_from_ending) {
  CrashedDriver driver({"wait", "1"}, "waiting", {{"FIBER_BACKEND", "local"}});
  FakeSlurm slurm(driver);
  slurm.command("squeue", "sleep 6040");
  driver.crash();
  auto shown = driver.await(is_crashed, slurm.variables());
  EXPECT_EQ(shown["problem"], "no answer in 2.0 s");
  // What hangs has ended with it.
  EXPECT_TRUE(wait_for([] { return shell("pgrep -f '[s]leep 6040'").out.empty(); }));
}

TEST(CrashedDrivers, that_kill_has_ended_are_reported_even_if_something_stays) {
  CrashedDriver driver({"wait", "1"}, "waiting", {{"FIBER_BACKEND", "local"}});
  driver.lead_to("docker", {{"DOCKER_HOST", "unix:///nowhere/docker.sock"}});
  auto killed = driver.fiber({"kill", "crashed"});
  EXPECT_EQ(killed.code, 1);
  EXPECT_NE(killed.out.find(") was killed, and with it "), std::string::npos)
    << killed.out;
  EXPECT_NE(killed.err.find("crashed has ended, and what it left can't be looked for: "),
            std::string::npos)
    << killed.err;
}

TEST(CrashedDrivers, that_stop_has_ended_are_reported_even_if_something_stays) {
  CrashedDriver driver({"wait", "1"}, "waiting", {{"FIBER_BACKEND", "local"}});
  driver.lead_to("docker", {{"DOCKER_HOST", "unix:///nowhere/docker.sock"}});
  auto stopped = driver.fiber({"stop", "crashed", "--json"});
  EXPECT_EQ(stopped.code, 1);
  auto told = json::parse(stopped.out, nullptr, false);
  EXPECT_EQ(told.value("pid", 0), driver.pid()) << stopped.out;
  EXPECT_NE(stopped.err.find("crashed has ended, and what it left can't be looked for: "),
            std::string::npos)
    << stopped.err;
}

TEST(Drivers, are_not_killed_if_another_process_has_their_pid) {
  CrashedDriver driver({"wait", "1"}, "waiting", {{"FIBER_BACKEND", "local"}});
  driver.make_older();
  auto killed = driver.fiber({"kill", "crashed"});
  EXPECT_EQ(killed.code, 1);
  EXPECT_NE(killed.err.find("its driver is no process of this machine"),
            std::string::npos)
    << killed.err;
  EXPECT_EQ(driver.ps()[0]["answers"], true);
}

TEST(Drivers, that_are_killed_leave_what_an_earlier_process_of_their_pid_has_left) {
  CrashedDriver driver({"wait", "1"}, "waiting", {{"FIBER_BACKEND", "local"}});
  driver.add_note("crashed-before", "docker",
                  {{"DOCKER_HOST", "unix:///nowhere/docker.sock"}});
  auto killed = driver.fiber({"kill", "crashed"});
  EXPECT_EQ(killed.code, 0) << killed.err;
  EXPECT_EQ(driver.ps()[0]["name"], "crashed-before");
}

TEST(Drivers, are_killed_without_a_question_to_engines_of_other_sessions) {
  CrashedDriver driver({"wait", "1"}, "waiting", {{"FIBER_BACKEND", "local"}});
  driver.add_note("crashed-elsewhere", "slurm", {});
  const TestFolder folder;
  folder.write("bin/squeue", "#!/bin/sh\necho asked >>" + folder.path("asked") + "\n");
  std::filesystem::permissions(folder.path("bin/squeue"), std::filesystem::perms(0755));
  const Variables slurm{{"PATH", folder.path("bin") + ":" + std::getenv("PATH")}};
  EXPECT_EQ(driver.fiber({"kill", "crashed"}, slurm).code, 0);
  EXPECT_FALSE(std::filesystem::exists(folder.path("asked")));
  driver.fiber({"ps"}, slurm);
  EXPECT_TRUE(std::filesystem::exists(folder.path("asked")));
}

TEST(CrashedDrivers, of_slurm_have_their_jobs_cancelled_and_their_folder_removed) {
  CrashedDriver driver({"wait", "1"}, "waiting", {{"FIBER_BACKEND", "local"}});
  FakeSlurm slurm(driver);
  driver.crash();
  driver.await(is_crashed, slurm.variables());
  auto killed = driver.fiber({"kill", "crashed"}, slurm.variables());
  EXPECT_EQ(killed.code, 0) << killed.err;
  EXPECT_NE(killed.out.find("had crashed; removed: job 17, folder /"), std::string::npos)
    << killed.out;
  EXPECT_EQ(slurm.cancelled(), "17\n");
  EXPECT_FALSE(slurm.has_folders());
  EXPECT_EQ(driver.files(), "");
}

} // namespace
} // namespace fiber::cli
