// SPDX-License-Identifier: Apache-2.0
// Promise: the roster has every job that lives, and a bounded memory of those that do
// not.
#include "actors/roster/roster.hpp"

#include <gtest/gtest.h>

namespace fiber::actors {
namespace {

JobEntry entry(const std::string& node, int number) {
  return {.node = node, .job = node + "-" + std::to_string(number), .kind = "pool"};
}

TEST(Roster, a_job_is_listed_from_its_order_to_its_end) {
  Roster roster;
  roster.expect(1, entry("w0", 1));
  EXPECT_EQ(roster.jobs().at(1).state, JobEntry::State::starting);
  roster.created(1, "id");
  roster.up(1, 4711, {});
  auto job = roster.jobs().at(1);
  EXPECT_EQ(job.state, JobEntry::State::up);
  EXPECT_EQ(job.id, "id");
  EXPECT_EQ(job.pid, 4711);
  roster.draining(1);
  EXPECT_EQ(roster.jobs().at(1).state, JobEntry::State::draining);
  roster.lost(1, "ended", 0, true);
  EXPECT_TRUE(roster.jobs().empty());
  EXPECT_TRUE(roster.failures().empty());
}

TEST(Roster, a_job_waits_until_it_starts) {
  Roster roster;
  roster.expect(1, entry("w0", 1));
  roster.waits(1, "Resources");
  roster.waits(1, "Priority");
  EXPECT_EQ(roster.jobs().at(1).waits_for, "Priority");
  roster.waits(1, "");
  EXPECT_EQ(roster.jobs().at(1).waits_for, "");
  roster.waits(1, std::string(100000, 'x'));
  EXPECT_LT(roster.jobs().at(1).waits_for.size(), 5000U);
  roster.up(1, 4711, {});
  EXPECT_EQ(roster.jobs().at(1).waits_for, "");
  roster.waits(1, "too late");
  EXPECT_EQ(roster.jobs().at(1).waits_for, "");
  roster.lost(1, "ended", 0, true);
  roster.waits(1, "of an unknown job");
  EXPECT_TRUE(roster.jobs().empty());
}

TEST(Roster, the_waits_of_a_pool_are_summed_up) {
  Roster roster;
  roster.expect(1, entry("a.w0", 1));
  roster.expect(2, entry("a.w1", 2));
  roster.expect(3, entry("ab.w0", 3));
  EXPECT_EQ(roster.waiting("a").jobs, 0U);
  roster.waits(2, "Resources");
  roster.waits(3, "of another pool");
  roster.waits(1, "Priority");
  roster.waits(2, "Licenses"); // It has waited longer, for whatever.
  EXPECT_EQ(roster.waiting("a").jobs, 2U);
  EXPECT_EQ(roster.waiting("a").why, "Licenses");
  roster.up(2, 4711, {});
  EXPECT_EQ(roster.waiting("a").jobs, 1U);
  EXPECT_EQ(roster.waiting("a").why, "Priority");
}

TEST(Roster, an_unplanned_loss_is_a_failure_and_a_restart) {
  Roster roster;
  roster.expect(1, entry("w0", 1));
  roster.lost(1, "killed by SIGKILL", -9, false);
  roster.lost(1, "told twice", -9, false);
  roster.expect(2, entry("w0", 2));
  roster.expect(3, entry("w1", 3));
  EXPECT_EQ(roster.jobs().at(2).restarts, 1);
  EXPECT_EQ(roster.jobs().at(3).restarts, 0);
  EXPECT_EQ(roster.jobs_lost(), 1U);
  auto failures = roster.failures();
  ASSERT_EQ(failures.size(), 1U);
  EXPECT_EQ(failures[0].who, "w0-1");
  EXPECT_EQ(failures[0].why, "killed by SIGKILL");
  EXPECT_EQ(failures[0].exit_code, -9);
}

TEST(Roster, a_process_that_has_done_its_work_is_no_failure) {
  Roster roster;
  roster.expect(1, {.node = "p", .job = "p-1", .kind = "process"});
  roster.lost(1, "exited with 0", 0, false);
  EXPECT_TRUE(roster.failures().empty());
}

TEST(Roster, the_latest_failures_are_kept) {
  Roster roster;
  for (std::size_t i = 0; i < 3 * Roster::max_failures; ++i)
    roster.task_failed("pool1", i, std::string(100000, 'x'));
  auto failures = roster.failures();
  ASSERT_EQ(failures.size(), Roster::max_failures);
  EXPECT_EQ(failures.front().who, "pool1 task 200");
  EXPECT_EQ(failures.back().who, "pool1 task 299");
  EXPECT_LT(failures.back().why.size(), 5000U);
}

TEST(Roster, the_end_of_the_latest_output_is_kept) {
  Roster roster;
  roster.keep_output("a", "");
  EXPECT_EQ(roster.output("a"), std::nullopt);
  roster.keep_output("a", std::string(Roster::max_job_output, 'x') + "end");
  EXPECT_EQ(roster.output("a")->size(), Roster::max_job_output);
  EXPECT_TRUE(roster.output("a")->ends_with("end"));
  for (int i = 0; i < 100; ++i)
    roster.keep_output("b" + std::to_string(i), std::string(Roster::max_job_output, 'y'));
  EXPECT_EQ(roster.output("a"), std::nullopt);
  EXPECT_EQ(roster.ended().size(), Roster::max_output / Roster::max_job_output);
  EXPECT_TRUE(roster.output("b99"));
}

} // namespace
} // namespace fiber::actors
