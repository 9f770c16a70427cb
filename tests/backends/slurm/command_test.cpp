// SPDX-License-Identifier: Apache-2.0
// The promise: a command of Slurm can neither be misled by what an allocation has set nor
// block the backend, and no answer is told from a refusal.
#include "backends/slurm/command.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <memory>

#include "backends/engine/spawn.hpp"

namespace fiber::backends::slurm {
namespace {

TEST(SlurmCommands, an_allocations_variables_are_removed) {
  std::vector<std::string> given{"PATH=/bin",
                                 "SLURM_JOB_ID=7",
                                 "SLURM_CONF=/etc/slurm/slurm.conf",
                                 "SLURM_CPUS_PER_TASK=3",
                                 "SBATCH_PARTITION=x",
                                 "SQUEUE_FORMAT=%i",
                                 "SCANCEL_INTERACTIVE=1",
                                 "SLURMD_NODENAME=n1",
                                 "FIBER_DASHBOARD=127.0.0.1:0",
                                 "FIBER_DASHBOARD_TOKEN=0123456789abcdef",
                                 "FIBER_REPORT=run.html",
                                 "FIBER_LEASE=60s",
                                 "MY_SLURM_JOB=kept"};
  std::vector<std::string> clean{"PATH=/bin", "SLURM_CONF=/etc/slurm/slurm.conf",
                                 "FIBER_LEASE=60s", "MY_SLURM_JOB=kept"};
  EXPECT_EQ(clean_environment(given), clean);
}

TEST(SlurmCommands, are_not_found_in_the_current_folder) {
  std::string folder = testing::TempDir() + "fiber_commands_XXXXXX";
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  auto here = std::filesystem::current_path();
  std::string before = std::getenv("PATH");
  std::ofstream(folder + "/sbatch-of-nobody") << "#!/bin/sh\n";
  std::filesystem::permissions(folder + "/sbatch-of-nobody",
                               std::filesystem::perms::owner_all);
  std::filesystem::current_path(folder);
  for (auto* path : {":/usr/bin", "/usr/bin::/bin", "/usr/bin:", ".:/usr/bin", ""}) {
    ::setenv("PATH", path, 1);
    EXPECT_EQ(find_in_path("sbatch-of-nobody"), "") << path;
  }
  ::setenv("PATH", folder.c_str(), 1);
  EXPECT_EQ(find_in_path("sbatch-of-nobody"), folder + "/sbatch-of-nobody");
  ::setenv("PATH", before.c_str(), 1);
  std::filesystem::current_path(here);
  std::filesystem::remove_all(folder);
}

TEST(SlurmCommands, both_streams_and_the_exit_code_are_returned) {
  Loop loop;
  Commands commands(loop, {"PATH=/bin:/usr/bin", "NAME=old"});
  auto told = commands.call({"sh", "-c", "echo out; echo err >&2; exit 3"});
  EXPECT_EQ(told.exit_code, 3);
  EXPECT_EQ(told.output, "out\n");
  EXPECT_EQ(told.errors, "err\n");
  EXPECT_EQ(told.problem(), "err");
  EXPECT_FALSE(told.unanswered());
  EXPECT_EQ(commands.count(), 1u);
}

TEST(SlurmCommands, an_added_variable_replaces_the_old_one) {
  Loop loop;
  Commands commands(loop, {"PATH=/bin:/usr/bin", "NAME=old"});
  std::promise<std::string> told;
  loop.post([&] {
    commands.run({"sh", "-c", "echo $NAME"},
                 [&](const CommandResult& result) { told.set_value(result.output); },
                 {{"NAME", "new"}});
  });
  EXPECT_EQ(told.get_future().get(), "new\n");
}

TEST(SlurmCommands, a_command_that_is_missing_says_so) {
  Loop loop;
  Commands commands(loop, {});
  auto told = commands.call({"no-such-command-of-slurm"});
  EXPECT_FALSE(told.ok());
  EXPECT_EQ(told.problem(), "no-such-command-of-slurm is not on PATH");
}

TEST(SlurmCommands, commands_that_run_are_killed_at_the_end) {
  Loop loop;
  auto commands = std::make_unique<Commands>(loop, std::vector<std::string>{});
  std::promise<void> started;
  loop.post([&] {
    commands->run({"sleep", "1000"},
                  [](const CommandResult&) { ADD_FAILURE() << "was called"; });
    started.set_value();
  });
  started.get_future().get();
  loop.stop();
  commands.reset();
}

TEST(SlurmCommands, no_answer_is_told_from_a_refusal) {
  auto ended = [](int code, const std::string& errors) {
    return CommandResult{.exit_code = code, .output = {}, .errors = errors};
  };
  EXPECT_TRUE(ended(1, "sbatch: error: Batch job submission failed: Unable to contact "
                       "slurm controller (connect failure)\n")
                .unanswered());
  EXPECT_TRUE(ended(1, "slurm_load_jobs error: Socket timed out on send/recv operation\n")
                .unanswered());
  EXPECT_TRUE(ended(-SIGKILL, "").unanswered());
  auto refusal = ended(1, "sbatch: error: invalid partition specified: nope\n"
                          "sbatch: error: Batch job submission failed: Invalid "
                          "partition name specified\n");
  EXPECT_FALSE(refusal.unanswered());
  EXPECT_EQ(refusal.problem(), "sbatch: error: invalid partition specified: nope; "
                               "sbatch: error: Batch job submission failed: Invalid "
                               "partition name specified");
}

} // namespace
} // namespace fiber::backends::slurm
