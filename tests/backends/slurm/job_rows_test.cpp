// SPDX-License-Identifier: Apache-2.0
// The promise: what Slurm prints is read as it is meant. The texts are those of Slurm
// 22.05.8, unless another version is named.
#include "backends/slurm/job_rows.hpp"

#include <gtest/gtest.h>

#include <csignal>

#include "backends/slurm/cluster.hpp"
#include "tests/locale/comma_locale.hpp"

namespace fiber::backends::slurm {
namespace {

constexpr auto listing =
  "1|8|CANCELLED|15|fiber-slurm-4|None|fiber-abc.1|\n"
  "1|3|COMPLETED|0|fiber-slurm-2|None|fiber-abc.1|\n"
  "1|0|FAILED|10752|fiber-slurm-1|NonZeroExitCode|fiber-abc.1|\n"
  "1|1|FAILED|11|fiber-slurm-1|JobLaunchFailure|fiber-abc.1|\n"
  "1|5|COMPLETING|0|fiber-slurm-3|None|fiber-abc.1|\n"
  "20|0|PENDING|0||PartitionDown|fiber-0123456789abcdef-0123456789.1234|\n"
  "18|1|FAILED|256||BadConstraints|x|\n"
  "9|4|RUNNING|0|n[1-2]|None|another|s|\n"
  "20|N/A|CANCELLED|0||PartitionDown|fiber-abc.2|\n"
  "21|N/A|RUNNING|0|fiber-slurm-1|None|no-array|\n"
  "slurm_load_jobs error: Unable to contact slurm controller (connect failure)\n";

TEST(JobRows, are_the_same_in_a_locale_with_grouping) {
  const auto row = "1234567|1234|FAILED|10752|n1|None|fiber-abc.1|\n";
  const fiber::test::CommaLocale locale;
  auto rows = parse_rows(row);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].array, "1234567");
  EXPECT_EQ(rows[0].index, 1234);
  EXPECT_EQ(rows[0].wait_status, 42 << 8);
}

TEST(JobRows, each_task_of_an_array_is_a_row) {
  auto rows = parse_rows(listing);
  ASSERT_EQ(rows.size(), 7u);
  EXPECT_EQ(rows[2].array, "1");
  EXPECT_EQ(rows[2].index, 0);
  EXPECT_EQ(rows[2].name, "fiber-abc.1");
  EXPECT_EQ(rows[2].state, "FAILED");
  EXPECT_EQ(rows[2].reason, "NonZeroExitCode");
  EXPECT_EQ(rows[2].wait_status, 42 << 8);
  EXPECT_EQ(rows[2].node, "fiber-slurm-1");
  EXPECT_EQ(rows[1].reason, "");
  EXPECT_EQ(rows[5].node, "");
  EXPECT_EQ(rows[5].name, "fiber-0123456789abcdef-0123456789.1234");
}

// Slurm 24.11.5 of Debian 13.
constexpr auto newer_listing =
  "4|2|CANCELLED|0:15|f13-1|None|fiber-abc.1|\n"
  "4|0|FAILED|0:9|f13-1|RaisedSignal:9(Killed)|fiber-abc.1|\n"
  "1|1|FAILED|7:0|f13-1|NonZeroExitCode|fiber-abc.1|\n"
  "2|0|OUT_OF_MEMORY|0:125|f13-1|OutOfMemory|fiber-abc.1|\n"
  "5|0|RUNNING|0:0|f13-1|None|fiber-abc.1|\n"
  "5|1|RUNNING|0:x|f13-1|None|fiber-abc.1|\n";

TEST(JobRows, newer_versions_list_code_and_signal) {
  auto rows = parse_rows(newer_listing);
  ASSERT_EQ(rows.size(), 5u);
  EXPECT_EQ(end_of(rows[0], 0, false).exit.code, -SIGTERM);
  EXPECT_EQ(end_of(rows[1], 0, false).exit.code, -SIGKILL);
  EXPECT_EQ(end_of(rows[2], 0, false).exit.code, 7);
  EXPECT_EQ(end_of(rows[3], 0, false).exit.code, -SIGKILL);
  EXPECT_EQ(rows[4].wait_status, 0);
}

TEST(JobRows, a_job_waits_or_runs_or_is_over) {
  auto row = [](const char* state) {
    JobRow made;
    made.state = state;
    return made;
  };
  for (auto* state : {"PENDING", "CONFIGURING", "REQUEUE_HOLD"}) {
    EXPECT_TRUE(row(state).waits()) << state;
    EXPECT_FALSE(row(state).over()) << state;
  }
  for (auto* state : {"RUNNING", "COMPLETING", "SUSPENDED", "A_STATE_OF_2030"}) {
    EXPECT_FALSE(row(state).waits()) << state;
    EXPECT_FALSE(row(state).over()) << state;
  }
  for (auto* state : {"COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL",
                      "OUT_OF_MEMORY", "PREEMPTED"})
    EXPECT_TRUE(row(state).over()) << state;
}

TEST(JobRows, a_job_in_a_queue_is_told_from_one_that_somebody_must_mend) {
  auto row = [](const char* reason, const char* state = "PENDING") {
    JobRow made;
    made.state = state;
    made.reason = reason;
    return made;
  };
  for (auto* reason :
       {"", "Resources", "Priority", "BeginTime", "Dependency", "Licenses", "Reservation",
        "ReqNodeNotAvail, UnavailableNodes:n[1-2]", "JobArrayTaskLimit",
        "Nodes required for job are DOWN, DRAINED or reserved for jobs in higher "
        "priority "
        "partitions",
        "QOSMaxJobsPerUserLimit", "QOSGrpCpuLimit", "QOSMaxCpuPerUserLimit",
        "AssocGrpGRES", "AssocGrpCpuLimit", "AssocMaxJobsLimit", "AssociationJobLimit"})
    EXPECT_TRUE(row(reason).is_in_queue()) << reason;
  for (auto* reason : {"PartitionDown",
                       "PartitionInactive",
                       "PartitionNodeLimit",
                       "JobHeldAdmin",
                       "JobHeldUser",
                       "DependencyNeverSatisfied",
                       "BadConstraints",
                       "InvalidAccount",
                       "ReservationDeleted",
                       "QOSMaxCpuPerJobLimit",
                       "QOSMaxWallDurationPerJobLimit",
                       "QOSMinCpuNotSatisfied",
                       "QOSMaxNodePerJobLimit",
                       "QOSMaxMemoryPerNode",
                       "AssocMaxWallDurationPerJobLimit",
                       "AssocMaxCpuPerJobLimit",
                       "QOSNotAllowed",
                       "AssociationTimeLimit",
                       "QOSTimeLimit",
                       "AReasonOf2030"})
    EXPECT_FALSE(row(reason).is_in_queue()) << reason;
  EXPECT_TRUE(row("", "CONFIGURING").is_in_queue());
  EXPECT_FALSE(row("Resources", "REQUEUE_HOLD").is_in_queue());
  EXPECT_FALSE(row("", "RUNNING").is_in_queue());
}

TEST(JobRows, an_end_has_the_exit_code_and_the_node) {
  auto rows = parse_rows(listing);
  auto exited = end_of(rows[2], 0, false);
  EXPECT_EQ(exited.exit.code, 42);
  EXPECT_EQ(exited.exit.detail, "exit code 42, node fiber-slurm-1");
  EXPECT_FALSE(exited.disrupted);
  EXPECT_TRUE(exited.confirmed);
  auto crashed = end_of(rows[3], 0, false);
  EXPECT_EQ(crashed.exit.code, -SIGSEGV);
  EXPECT_EQ(crashed.exit.detail, "killed by SIGSEGV, node fiber-slurm-1");
  EXPECT_EQ(end_of(rows[1], 0, false).exit.detail, "exit code 0");
}

TEST(JobRows, what_the_cluster_ended_is_disrupted) {
  JobRow row{.array = "1", .index = 0, .name = "x", .state = "CANCELLED", .node = "n7"};
  EXPECT_TRUE(end_of(row, 0, false).disrupted);
  EXPECT_FALSE(end_of(row, 0, true).disrupted);
  for (auto* state : {"TIMEOUT", "PREEMPTED", "NODE_FAIL", "BOOT_FAIL"}) {
    row.state = state;
    EXPECT_TRUE(end_of(row, 0, false).disrupted) << state;
    EXPECT_EQ(end_of(row, 0, false).exit.code, std::nullopt) << state;
  }
  row.state = "NODE_FAIL";
  EXPECT_FALSE(end_of(row, 0, false).confirmed);
  row.state = "TIMEOUT";
  EXPECT_TRUE(end_of(row, 0, false).confirmed);
}

TEST(JobRows, a_job_without_memory_names_its_limit) {
  JobRow row{.array = "1", .index = 0, .state = "OUT_OF_MEMORY", .wait_status = 125};
  EXPECT_EQ(end_of(row, 512, false).exit.detail, "OOMKilled, limit 512 MiB");
  EXPECT_EQ(end_of(row, 0, false).exit.code, -SIGKILL);
}

TEST(JobRows, the_accounting_reports_an_end_too) {
  auto row = parse_accounting("FAILED|42:0|n1\n");
  ASSERT_TRUE(row);
  EXPECT_EQ(end_of(*row, 0, false).exit.detail, "exit code 42, node n1");
  row = parse_accounting("CANCELLED by 1000|0:15|n1\n");
  ASSERT_TRUE(row);
  EXPECT_EQ(end_of(*row, 0, false).exit.detail, "cancelled by scancel, node n1");
  EXPECT_FALSE(parse_accounting("RUNNING|0:0|n1\n"));
  EXPECT_FALSE(parse_accounting("Slurm accounting storage is disabled\n"));
  EXPECT_FALSE(parse_accounting(""));
}

TEST(JobRows, a_submission_prints_an_id_and_maybe_a_cluster) {
  EXPECT_EQ(parse_submitted("1234\n"), "1234");
  EXPECT_EQ(parse_submitted("1234;east\n"), "1234");
  EXPECT_EQ(parse_submitted(""), std::nullopt);
  EXPECT_EQ(parse_submitted("Submitted batch job 5\n"), std::nullopt);
}

TEST(SlurmConfig, a_value_is_found_by_its_whole_key) {
  constexpr auto config = "Configuration data as of 2026-11-24T15:50:34\n"
                          "ClusterName             = fiber\n"
                          "MaxArraySize            = 1001\n"
                          "SlurmctldHost[0]        = vm(127.0.0.1)\n"
                          "SLURM_VERSION           = 22.05.8\n";
  EXPECT_EQ(config_value(config, "MaxArraySize"), "1001");
  EXPECT_EQ(config_value(config, "ClusterName"), "fiber");
  EXPECT_EQ(config_value(config, "Cluster"), "");
}

} // namespace
} // namespace fiber::backends::slurm
