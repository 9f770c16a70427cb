// SPDX-License-Identifier: Apache-2.0
// The promise: `fiber run` starts drivers as jobs of a real Slurm and leaves nothing
// behind, and `fiber doctor` says what keeps jobs from running there.
#include <csignal>
#include <cstdlib>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/cli/command.hpp"
#include "tests/cli/crashed_driver.hpp"
#include "tests/cli/detached_driver.hpp"
#include "tests/clusters/cluster.hpp"

namespace fiber::cli {
namespace {

using nlohmann::json;

class SlurmCommand : public testing::Test {
protected:
  void SetUp() override {
    if (!clusters::slurm())
      GTEST_SKIP() << "SKIPPED: no Slurm is up";
  }

  void TearDown() override {
    if (!clusters::slurm())
      return;
    EXPECT_EQ(queue(), "") << "jobs are left";
    EXPECT_EQ(shell("ls " + sessions()).out, "") << "folders are left";
  }

  static std::string sessions() { return clusters::slurm()->at("SLURM_SESSIONS"); }
  static std::string queue() {
    return clusters::ask_slurm("squeue --noheader --format='%i %j %T'");
  }
  static Variables with(Variables variables = {}) {
    variables.insert({{"SLURM_CONF", clusters::slurm()->at("SLURM_CONF")},
                      {"FIBER_SLURM_DIRECTORY", sessions()}});
    return variables;
  }
  static Outcome run(const Words& options, const Words& program,
                     const Variables& variables = {}) {
    Words all{"run", "--backend", "slurm"};
    all.insert(all.end(), options.begin(), options.end());
    all.insert(all.end(), {"--", CLI_PROGRAM});
    all.insert(all.end(), program.begin(), program.end());
    return fiber_command(all, with(variables));
  }

  /// Starts a driver with a worker, whose log goes to the folder.
  static void detach(const std::string& name, const TestFolder& folder) {
    auto outcome = shell("cd " + folder.path("") +
                           " && " FIBER_COMMAND " run --backend slurm --detach --name " +
                           name + " -- " CLI_PROGRAM " wait 1",
                         with());
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_NE(outcome.out.find("fiber stop " + name + " ends it"), std::string::npos)
      << outcome.out;
  }

  /// Lets `fiber ps` remove the note of a driver that has ended, which it did not see
  /// while the folder of the note was hidden.
  static void forget(const std::string& name) {
    EXPECT_TRUE(wait_for(
      [&] { return fiber_command({"ps"}, with()).out.find(name) == std::string::npos; }));
  }

  static void expect_trouble(const Variables& variables, const std::string& name,
                             const std::string& problem, const std::string& advice,
                             const Words& options = {}) {
    Words words{"doctor", "slurm", "--json"};
    words.insert(words.end(), options.begin(), options.end());
    expect_last_trouble(fiber_command(words, with(variables)), name, problem, advice);
  }
};

TEST_F(SlurmCommand, runs_a_driver_as_a_job_that_finds_slurm_by_itself) {
  auto outcome =
    run({"--cpu", "2", "--memory", "256M", "--env", "ONE=1"},
        {"sum", "4", "env", "ONE", "env", "FIBER_BACKEND", "err", "oops", "exit", "3"},
        {{"FIBER_LOG_LEVEL", "info"}});
  EXPECT_EQ(outcome.code, 3) << outcome.err;
  EXPECT_EQ(outcome.out, "sum 168\nONE=1\nFIBER_BACKEND=auto\n");
  EXPECT_NE(outcome.err.find("this process is in Slurm's job "), std::string::npos)
    << outcome.err;
  EXPECT_NE(outcome.err.find("oops\n"), std::string::npos) << outcome.err;
}

TEST_F(SlurmCommand, a_signal_stops_the_driver_and_its_workers) {
  Command command(
    {"run", "--backend", "slurm", "--name", "cli-test", "--", CLI_PROGRAM, "wait", "1"},
    with());
  ASSERT_TRUE(command.says("waiting 2"));
  EXPECT_NE(queue().find("cli-test RUNNING"), std::string::npos);
  command.signal(SIGINT);
  auto outcome = command.wait();
  EXPECT_EQ(outcome.code, 128 + SIGINT);
  EXPECT_NE(outcome.err.find("fiber: asked the program to stop"), std::string::npos)
    << outcome.err;
}

TEST_F(SlurmCommand, kill_cancels_the_jobs_of_a_crashed_driver) {
  // The job waits in a partition that starts none.
  CrashedDriver driver({"stubborn", "1"}, "waiting",
                       with({{"FIBER_BACKEND", "slurm"},
                             {"FIBER_SLURM_PARTITION", "closed"},
                             {"FIBER_START_DEADLINE", "600s"}}));
  auto prefix = "fiber-" + driver.session() + ".";
  driver.await([&](auto&) { return queue().find(prefix) != std::string::npos; });
  // The driver's guard, which would cancel it, dies too, as with the whole machine.
  auto guard = shell("pgrep -f '[f]iber-slurm-guard.* " + prefix + "'").out;
  ASSERT_GT(std::atoi(guard.c_str()), 1) << guard;
  ::kill(std::atoi(guard.c_str()), SIGKILL);
  driver.crash();
  auto shown = driver.await([](auto& one) { return one["crashed"] == true; });
  EXPECT_EQ(shown["left"].size(), 2U) << shown; // The job and the session's folder.
  EXPECT_NE(queue().find(prefix), std::string::npos);
  // A controller that hangs does not keep `fiber ps` from ending.
  auto script = clusters::slurm()->at("SLURM_SCRIPTS") + "/controller ";
  ASSERT_EQ(std::system((script + "freeze").c_str()), 0);
  EXPECT_EQ(driver.ps()[0]["problem"], "no answer in 2.0 s");
  ASSERT_EQ(std::system((script + "thaw").c_str()), 0);
  auto killed = driver.fiber({"kill", "crashed"});
  EXPECT_EQ(killed.code, 0) << killed.err;
  EXPECT_NE(killed.out.find("removed: job "), std::string::npos) << killed.out;
  EXPECT_EQ(driver.ps().size(), 0U);
}

TEST_F(SlurmCommand, a_second_signal_cancels_workers_that_wait_in_the_queue_too) {
  // The workers go to a partition that starts none.
  Command command({"run", "--backend", "slurm", "--env", "FIBER_SLURM_PARTITION=closed",
                   "--env", "FIBER_START_DEADLINE=600s", "--", CLI_PROGRAM, "stubborn",
                   "1"},
                  with());
  ASSERT_TRUE(command.says("waiting"));
  auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (queue().find("PENDING") == std::string::npos &&
         std::chrono::steady_clock::now() < end)
    ;
  EXPECT_NE(queue().find("PENDING"), std::string::npos) << queue();
  command.signal(SIGINT);
  ASSERT_TRUE(command.says("asked the program to stop"));
  command.signal(SIGINT);
  EXPECT_EQ(command.wait().code, 128 + SIGKILL);
}

TEST_F(SlurmCommand, a_job_that_has_not_started_is_cancelled_by_the_first_signal) {
  Command command({"run", "--backend", "slurm", "--", CLI_PROGRAM, "exit", "0"},
                  with({{"FIBER_SLURM_PARTITION", "closed"}}));
  ASSERT_TRUE(command.says("waits: PartitionDown"));
  command.signal(SIGTERM);
  EXPECT_EQ(command.wait().code, 128 + SIGTERM);
}

TEST_F(SlurmCommand, a_detached_driver_writes_to_a_file) {
  TestFolder folder;
  auto outcome = shell("cd " + folder.path("") +
                         " && " FIBER_COMMAND " run --backend slurm --detach "
                         "--json --name batch -- " CLI_PROGRAM " sum 4",
                       with());
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  auto told = json::parse(outcome.out);
  EXPECT_EQ(told["log"], folder.path("batch.log"));
  auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!queue().empty() && std::chrono::steady_clock::now() < end)
    ;
  EXPECT_TRUE(folder.read("batch.log").starts_with("sum 168\n"));
}

TEST_F(SlurmCommand, verbs_reach_a_detached_driver_and_stop_ends_it) {
  TestFolder folder;
  detach("cli-slurm", folder);
  DetachedDriver driver("cli-slurm", with(), true);
  driver.expect_seen("slurm", "job ");
  // Its node is this machine.
  auto here = fiber_command({"ps"}, with()).out;
  EXPECT_EQ(here.find("cli-slurm"), here.rfind("cli-slurm")) << here;
  driver.end_by("stop");
  driver.expect_unlisted();
  forget("cli-slurm");
}

TEST_F(SlurmCommand, kill_ends_a_detached_driver_and_its_workers) {
  TestFolder folder;
  detach("cli-slurm", folder);
  DetachedDriver driver("cli-slurm", with(), true);
  driver.end_by("kill");
  driver.expect_unlisted();
  forget("cli-slurm");
}

TEST_F(SlurmCommand, ps_does_not_wait_for_a_controller_that_hangs) {
  auto script = clusters::slurm()->at("SLURM_SCRIPTS") + "/controller ";
  ASSERT_EQ(std::system((script + "freeze").c_str()), 0);
  auto outcome = fiber_command({"ps"}, with());
  ASSERT_EQ(std::system((script + "thaw").c_str()), 0);
  EXPECT_EQ(outcome.code, 0);
  EXPECT_NE(outcome.err.find("the drivers on slurm are not listed: no answer in 2.0 s"),
            std::string::npos)
    << outcome.err;
}

TEST_F(SlurmCommand, errors_of_a_submission_are_slurms_words) {
  auto outcome = run({}, {}, {{"FIBER_SLURM_PARTITION", "nope"}});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.err.find("invalid partition specified: nope"), std::string::npos)
    << outcome.err;
  EXPECT_EQ(run({"--image", "x"}, {}).err, "fiber: --image is for engines with "
                                           "containers; on slurm the program runs as it "
                                           "is\n");
  EXPECT_NE(run({"--time", "2h"}, {}).err.find("HH:MM:SS"), std::string::npos);
}

TEST_F(SlurmCommand, doctor_finds_a_good_cluster_well) {
  auto outcome = fiber_command({"doctor", "slurm"}, with());
  EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  EXPECT_NE(outcome.out.find("slurm       job dials back     ok"), std::string::npos)
    << outcome.out;
}

TEST_F(SlurmCommand, doctor_finds_that_slurms_commands_are_missing) {
  expect_trouble({{"PATH", "/none"}}, "commands", "sbatch is not on PATH",
                 "module load slurm");
}

TEST_F(SlurmCommand, doctor_finds_that_slurm_conf_is_missing) {
  expect_trouble({{"SLURM_CONF", "/none/slurm.conf"}}, "commands", "/none/slurm.conf",
                 "set SLURM_CONF");
}

TEST_F(SlurmCommand, doctor_finds_a_partition_that_is_unknown_or_closed) {
  expect_trouble({{"FIBER_SLURM_PARTITION", "nope"}}, "partition",
                 "there is no partition nope", "that sinfo lists");
  expect_trouble({{"FIBER_SLURM_PARTITION", "closed"}}, "partition",
                 "partition closed is closed", "slurm_partition");
}

TEST_F(SlurmCommand, doctor_finds_a_request_that_no_node_can_meet) {
  expect_trouble({{"FIBER_SLURM_GRES", "gpu:99"}}, "permission", "", "%G");
}

TEST_F(SlurmCommand, doctor_finds_a_folder_that_cannot_be_written_to) {
  expect_trouble({{"FIBER_SLURM_DIRECTORY", "/proc/none"}}, "folder", "/proc/none",
                 "slurm_directory");
}

TEST_F(SlurmCommand, doctor_finds_that_nodes_do_not_have_the_folder) {
  // Mounted for this command alone, so that the nodes' processes see another /mnt.
  auto outcome =
    shell("unshare --mount sh -c 'mount -t tmpfs tmpfs /mnt && " FIBER_COMMAND
          " doctor slurm --json --deadline 30'",
          with({{"FIBER_SLURM_DIRECTORY", "/mnt/sessions"}}));
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.out.find("on a file system that all nodes share"), std::string::npos)
    << outcome.out << outcome.err;
}

TEST_F(SlurmCommand, doctor_finds_that_the_controller_is_down) {
  auto script = clusters::slurm()->at("SLURM_SCRIPTS") + "/controller ";
  ASSERT_EQ(std::system((script + "kill").c_str()), 0);
  expect_trouble({}, "controller", "slurm controller", "slurmctld is down");
  ASSERT_EQ(std::system((script + "start").c_str()), 0);
}

TEST_F(SlurmCommand, doctor_finds_that_munge_does_not_answer) {
  TestFolder folder;
  auto conf = shell("cat " + clusters::slurm()->at("SLURM_CONF")).out;
  auto at = conf.find("AuthInfo=socket=");
  ASSERT_NE(at, conf.npos);
  conf.replace(at, conf.find('\n', at) - at, "AuthInfo=socket=/none/munge.sock");
  folder.write("slurm.conf", conf);
  expect_trouble({{"SLURM_CONF", folder.path("slurm.conf")}}, "controller",
                 "/none/munge.sock", "systemctl start munge");
}

} // namespace
} // namespace fiber::cli
