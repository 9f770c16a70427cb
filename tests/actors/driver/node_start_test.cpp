// SPDX-License-Identifier: Apache-2.0
// The promise: a job may take start_deadline to start, and queue_deadline to get room.
#include "tests/actors/driver/node_link_fixture.hpp"

using namespace std::chrono_literals;

namespace fiber::actors {
namespace {

TEST_F(NodeLinkTest, the_start_deadline_counts_from_the_creation_of_the_job) {
  order();
  pass(100s);
  create();
  pass(50s);
  EXPECT_TRUE(heard->ended.empty());
  pass(20s);
  ASSERT_EQ(heard->ended.size(), 1u);
  link_closes();
  job_ends(-9);
  ASSERT_EQ(heard->lost.size(), 1u);
  EXPECT_EQ(heard->lost[0].reason, "not ready after 60 s (start_deadline)");
  EXPECT_TRUE(heard->lost[0].confirmed);
}

TEST_F(NodeLinkTest, a_job_that_is_ready_after_the_start_deadline_is_not_used) {
  order();
  create();
  pass(70s);
  ASSERT_EQ(heard->ended.size(), 1u);
  ready();
  EXPECT_TRUE(heard->up.empty());
  link_closes();
  job_ends(-9);
  ASSERT_EQ(heard->lost.size(), 1u);
  EXPECT_EQ(heard->lost[0].reason, "not ready after 60 s (start_deadline)");
}

backends::JobEvent waits_for(const std::string& words, backends::JobEvent::Wait wait) {
  return {
    .kind = backends::JobEvent::Kind::waits, .job = "7", .detail = words, .wait = wait};
}
using Wait = backends::JobEvent::Wait;

TEST_F(NodeLinkTest, the_start_deadline_does_not_count_the_time_in_a_queue) {
  order();
  create();
  job_reports(waits_for("creates others first", Wait::turn));
  pass(300s);
  job_reports(waits_for("Unschedulable: 0/2 nodes", Wait::room));
  pass(300s);
  EXPECT_TRUE(heard->ended.empty());
  job_reports(waits_for("", Wait::blocked)); // It has a node.
  pass(50s);
  EXPECT_TRUE(heard->ended.empty());
  job_reports(waits_for("Resources", Wait::room));
  pass(300s);
  job_reports({.kind = backends::JobEvent::Kind::started, .job = "7"});
  EXPECT_TRUE(heard->ended.empty());
  pass(20s);
  ASSERT_EQ(heard->ended.size(), 1u);
  link_closes();
  job_ends(-9);
  ASSERT_EQ(heard->lost.size(), 1u);
  EXPECT_EQ(heard->lost[0].cause, LossCause::late);
}

TEST_F(NodeLinkTest, the_start_deadline_counts_what_does_not_mend_itself) {
  order();
  create();
  job_reports(waits_for("ErrImagePull: no such host", Wait::blocked));
  pass(59s);
  EXPECT_TRUE(heard->ended.empty());
  pass(2s);
  EXPECT_EQ(heard->ended.size(), 1u);
}

TEST_F(NodeLinkTest, the_queue_deadline_ends_a_wait_in_time_with_the_engines_words) {
  services->queue_deadline = 20s;
  order();
  create();
  job_reports(waits_for("Resources", Wait::room));
  pass(12s);
  job_reports(waits_for("", Wait::blocked));
  pass(30s); // Does not count.
  job_reports(waits_for("Priority", Wait::room));
  pass(7s);
  EXPECT_TRUE(heard->ended.empty());
  pass(2s);
  ASSERT_EQ(heard->ended.size(), 1u);
  link_closes();
  job_reports({.kind = backends::JobEvent::Kind::failed,
               .job = "7",
               .detail = "terminated before it started; Slurm job waited: Priority"});
  ASSERT_EQ(heard->lost.size(), 1u);
  EXPECT_EQ(heard->lost[0].cause, LossCause::queued);
  EXPECT_EQ(heard->lost[0].reason,
            "waited 20 s to be started (queue_deadline): Priority");
}

TEST_F(NodeLinkTest, the_queue_deadline_does_not_count_a_suspended_driver) {
  services->queue_deadline = 20s;
  order();
  create();
  job_reports(waits_for("Resources", Wait::room));
  stand_still(100s);
  pass(10s);
  EXPECT_TRUE(heard->ended.empty());
  pass(10s);
  EXPECT_EQ(heard->ended.size(), 1u);
}

TEST_F(NodeLinkTest, a_job_that_starts_after_the_queue_deadline_is_not_used) {
  services->queue_deadline = 20s;
  order();
  create();
  job_reports(waits_for("Resources", Wait::room));
  pass(21s);
  ready();
  EXPECT_TRUE(heard->up.empty());
  link_closes();
  job_ends(-9);
  ASSERT_EQ(heard->lost.size(), 1u);
  EXPECT_EQ(heard->lost[0].cause, LossCause::queued);
}

TEST_F(NodeLinkTest, the_roster_says_why_a_job_waits_until_it_starts) {
  using Kind = backends::JobEvent::Kind;
  auto waits_for = [&] { return services->roster->jobs().at(1).waits_for; };
  order();
  create();
  job_reports({.kind = Kind::waits, .job = "7", .detail = "Unschedulable"});
  EXPECT_EQ(waits_for(), "Unschedulable");
  EXPECT_TRUE(heard->lost.empty());
  job_reports({.kind = Kind::started, .job = "7"});
  EXPECT_EQ(waits_for(), "");
  ready();
  EXPECT_EQ(heard->up.size(), 1u);
  EXPECT_TRUE(heard->ended.empty());
}

} // namespace
} // namespace fiber::actors
