// SPDX-License-Identifier: Apache-2.0
// The promise: how the driver reacts to messages of a job, its link and its engine, and
// to messages that do not come in time.

#include "tests/actors/driver/node_link_fixture.hpp"

#include "actors/job/anchor.hpp"

#include <vector>

#include <caf/all.hpp>
#include <gtest/gtest.h>

#include "actors/core/exit.hpp"
#include "actors/driver/backend_actor.hpp"
#include "actors/pool/running_table.hpp"
#include "actors/protocol/job_ledger.hpp"
#include "actors/protocol/link_to_actor.hpp"
#include "actors/share/shared_memory.hpp"
#include "backends/output/crash_line.hpp"
#include "tests/actors/fake_link.hpp"

using namespace fiber;
using namespace fiber::actors;
using namespace std::chrono_literals;

namespace {

TEST_F(NodeLinkTest, a_slow_start_is_not_taken_for_silence) {
  order();
  create();
  link_is_silent();
  EXPECT_TRUE(heard->lost.empty());
  EXPECT_TRUE(heard->ended.empty());
  ready();
  EXPECT_EQ(heard->up.size(), 1u);
  link_is_silent();
  ASSERT_EQ(heard->lost.size(), 1u);
  EXPECT_FALSE(heard->lost[0].confirmed);
}

/// Returns a crash line with this signal.
std::string written_crash(const std::string& signal) {
  return std::string(backends::crash_mark) + "signal=" + signal +
         " address=10 sp=0 slot=1 seq=5 uncaught= objects= frames=-+1234 end\n";
}

TEST_F(NodeLinkTest, a_loss_holds_the_crash_report_and_the_last_output) {
  start();
  LogRecord record;
  record.level = static_cast<std::uint8_t>(spdlog::level::warn);
  record.text = "low on fuel";
  link->say(record);
  job_wrote("first\n" + written_crash("7") + "last\n");
  link_closes();
  job_ends(-7);
  ASSERT_EQ(heard->lost.size(), 1u);
  EXPECT_EQ(heard->lost[0].reason, "it ended (address 0x10)");
  EXPECT_EQ(heard->lost[0].last.lines, "low on fuel\nfirst\nlast");
  ASSERT_TRUE(heard->lost[0].last.crash);
  EXPECT_EQ(heard->lost[0].last.crash->slot, 1u);
}

TEST_F(NodeLinkTest, a_crash_report_that_hung_until_its_alarm_counts) {
  start();
  job_wrote(written_crash("11"));
  job_ends(-14);
  link_closes();
  ASSERT_EQ(heard->lost.size(), 1u);
  ASSERT_TRUE(heard->lost[0].last.crash);
  EXPECT_EQ(heard->lost[0].last.crash->signal, 11);
}

TEST_F(NodeLinkTest, a_report_of_a_crash_that_did_not_end_the_job_is_ignored) {
  start();
  job_wrote(written_crash("7"));
  link_closes();
  job_ends(-9);
  ASSERT_EQ(heard->lost.size(), 1u);
  EXPECT_EQ(heard->lost[0].reason, "it ended");
  EXPECT_FALSE(heard->lost[0].last.crash);
}

constexpr auto lost_link = "its connection to the driver was closed or lost: ";

std::string written_lost_link() {
  return std::string(backends::crash_mark) + "signal=9 address=- sp=0 slot=- seq=0 "
                                             "uncaught=bad%20file objects= frames= end\n";
}

TEST_F(NodeLinkTest, a_job_that_ended_without_its_link_says_so) {
  start();
  job_wrote(written_lost_link());
  link_closes();
  job_ends(-9);
  ASSERT_EQ(heard->lost.size(), 1u);
  auto& reason = heard->lost[0].reason;
  EXPECT_NE(reason.find(lost_link + std::string("bad file;")), reason.npos) << reason;
}

TEST_F(NodeLinkTest, a_job_that_ended_by_exit_code_without_its_link_says_so) {
  start();
  job_wrote(written_lost_link());
  link_closes();
  job_ends(73);
  ASSERT_EQ(heard->lost.size(), 1u);
  auto& reason = heard->lost[0].reason;
  EXPECT_NE(reason.find(lost_link), reason.npos) << reason;
}

TEST_F(NodeLinkTest,
       a_local_job_that_is_killed_since_it_ran_on_without_its_link_is_told) {
  page = backends::SharedPage::create(SlotProgress::stride + JobLedger::bytes);
  start();
  link_closes();
  pass(3s);
  EXPECT_EQ(heard->ended.size(), 1u);
  job_ends(-9);
  ASSERT_EQ(heard->lost.size(), 1u);
  auto& reason = heard->lost[0].reason;
  EXPECT_NE(reason.find(lost_link + std::string("closed;")), reason.npos) << reason;
}

/// A job whose engine tells late, after the link has ended, how the job has ended.
class LateEnd : public NodeLinkTest {
protected:
  std::string reason(const std::string& detail) {
    link_closes();
    pass(3s);
    EXPECT_EQ(heard->ended.size(), expected_kills);
    job_ends(-9, detail);
    return heard->lost.at(0).reason;
  }
  std::size_t expected_kills = 1;
};

TEST_F(LateEnd, by_our_kill_names_the_link_that_had_ended) {
  start();
  EXPECT_EQ(reason("killed by SIGKILL"),
            "killed by SIGKILL; its connection to the driver had already ended: closed");
}

TEST_F(LateEnd, for_lack_of_memory_is_not_mistaken_for_a_closed_connection) {
  start();
  EXPECT_EQ(reason("OOMKilled, limit 200 MiB"), "OOMKilled, limit 200 MiB");
}

TEST_F(LateEnd, of_a_job_that_the_driver_has_killed_names_no_connection) {
  start();
  kill_node();
  expected_kills = 2;
  EXPECT_EQ(reason("killed by SIGKILL"), "killed by SIGKILL");
}

TEST_F(NodeLinkTest, time_in_which_the_driver_is_suspended_does_not_count) {
  order();
  create();
  stand_still(100s);
  EXPECT_TRUE(heard->ended.empty());
  ready();
  pass(14s);
  stand_still(100s); // The answer has arrived, but the tick that is due comes first.
  EXPECT_TRUE(heard->lost.empty());
}

TEST_F(NodeLinkTest, a_node_whose_actors_do_not_answer_is_declared_dead) {
  start();
  pass(59s);
  EXPECT_TRUE(heard->lost.empty());
  EXPECT_GE(link->count(Op::probe), 4u);
  pass(17s);
  ASSERT_EQ(heard->lost.size(), 1u);
  EXPECT_EQ(heard->ended.size(), 1u);
}

TEST_F(NodeLinkTest, others_do_not_wait_for_a_shared_value_of_a_node_declared_dead) {
  start();
  auto value = services->shares->add(Bytes(min_mapped), nullptr);
  Bytes message;
  Writer writer(message);
  writer.put(Op::fetch);
  writer.put(ShareFetch{.id = value->id(), .machine = 7});
  link->handler->on_message(task_stream, message);
  run();
  EXPECT_EQ(link->count(Op::shared), 1u);
  auto other = std::make_shared<FakeLink>(); // Of the same machine.
  Reader reader(message);
  services->shares->heard(2, read_op(reader), reader, other);
  EXPECT_EQ(other->count(Op::shared), 0u);
  link_is_silent();
  EXPECT_EQ(other->count(Op::shared), 1u);
}

TEST_F(NodeLinkTest, a_node_with_another_number_of_slots_is_refused) {
  order();
  create();
  ready(3'000'000'000);
  EXPECT_TRUE(heard->up.empty());
  EXPECT_EQ(heard->lost.size(), 1u);
  EXPECT_EQ(heard->ended.size(), 1u);
}

TEST_F(NodeLinkTest, a_node_that_drained_before_it_was_ready_ends_as_planned) {
  order();
  create();
  link->say(Op::draining);
  job_ends(0);
  link_closes();
  ASSERT_EQ(heard->lost.size(), 1u);
  EXPECT_TRUE(heard->lost[0].planned);
}

TEST_F(NodeLinkTest, a_process_is_told_of_its_job_and_all_its_output) {
  job->use = NodeUse::process;
  job->image = "another";
  order();
  EXPECT_TRUE(heard->all_output);
  EXPECT_EQ(heard->image, "another");
  create();
  EXPECT_EQ(heard->created, std::vector<std::string>{"7"});
  ready();
  ASSERT_EQ(heard->up.size(), 1u);
  EXPECT_EQ(heard->up[0].pid, 77);
  job_wrote("first\n" + written_crash("7") + "last");
  link_closes();
  job_ends(-7);
  ASSERT_EQ(heard->lost.size(), 1u);
  EXPECT_EQ(heard->lost[0].output, "first\nlast");
}

TEST_F(NodeLinkTest, a_pool_is_not_told_of_jobs_and_output) {
  start();
  EXPECT_FALSE(heard->all_output);
  EXPECT_TRUE(heard->created.empty());
  job_wrote("first\n");
  link_closes();
  job_ends(0);
  ASSERT_EQ(heard->lost.size(), 1u);
  EXPECT_EQ(heard->lost[0].output, "");
}

TEST_F(NodeLinkTest, a_job_is_ended_with_the_requested_grace_period) {
  start();
  end_node(7s);
  ASSERT_EQ(heard->ended.size(), 1u);
  EXPECT_EQ(heard->ended[0].grace, 7s);
  link_closes();
  job_ends(-15);
  EXPECT_EQ(heard->lost.size(), 1u);
}

TEST_F(NodeLinkTest, a_job_that_is_being_created_is_ended_too) {
  order();
  end_node(7s);
  EXPECT_EQ(heard->cancelled.size(), 1u);
  EXPECT_TRUE(heard->ended.empty());
  create(); // Too late: the job is created.
  EXPECT_EQ(heard->ended.size(), 1u);
  link_closes();
  job_ends(-9);
  EXPECT_EQ(heard->lost.size(), 1u);
}

/// An anchor takes the end of its link for the end of the session, and the end of its
/// Kubernetes Job would delete all pods.
TEST(AnchorLinks, the_link_of_an_anchor_stays_when_the_next_one_comes) {
  auto first = std::make_shared<FakeLink>(), second = std::make_shared<FakeLink>();
  AnchorLinks links;
  links.add(first);
  links.add(second);
  EXPECT_EQ(first.use_count(), 2);
  links.close();
  EXPECT_EQ(first.use_count(), 1);
  EXPECT_EQ(second.use_count(), 1);
}

/// A long session has many anchors.
TEST(AnchorLinks, the_link_of_a_gone_anchor_is_dropped_when_the_next_one_comes) {
  auto first = std::make_shared<FakeLink>(), second = std::make_shared<FakeLink>();
  AnchorLinks links;
  links.add(first);
  first->handler->on_closed({"it has ended"});
  links.add(second);
  EXPECT_EQ(first.use_count(), 1);
  EXPECT_EQ(second.use_count(), 2);
}

/// The pool that would retire it may be gone.
TEST_F(NodeLinkTest, a_draining_node_is_retired_when_its_supervisor_asks) {
  start();
  link->say(Op::draining);
  run();
  EXPECT_EQ(link->count(Op::retire), 0u);
  supervisor_ends();
  EXPECT_EQ(link->count(Op::retire), 1u);
  job_ends(0);
  link_closes();
}

TEST_F(NodeLinkTest, a_node_that_drains_after_its_supervisor_asked_is_retired) {
  start();
  supervisor_ends();
  ASSERT_EQ(heard->ended.size(), 1u);
  EXPECT_EQ(link->count(Op::retire), 0u);
  link->say(Op::draining);
  run();
  EXPECT_EQ(link->count(Op::retire), 1u);
  job_ends(0);
  link_closes();
}

TEST_F(NodeLinkTest, values_that_a_dead_worker_holds_stay_until_it_is_gone) {
  start();
  auto object = services->shares->add(Bytes(8), nullptr);
  auto id = object->id();
  link->say(Op::retain, id);
  link_is_silent();
  ASSERT_EQ(heard->watched.size(), 1u);
  link_closes();
  object = nullptr;
  EXPECT_TRUE(services->shares->find(id)); // The dead worker's job may still run.
  caf::anon_send(heard->watched[0].owner, ended(-9));
  run();
  EXPECT_FALSE(services->shares->find(id));
}

TEST_F(NodeLinkTest, a_later_listener_hears_that_the_link_is_closed) {
  struct Listener {
    static caf::behavior behavior(caf::event_based_actor*,
                                  const std::shared_ptr<int>& closed) {
      return {[closed](const LinkClosed&) { ++*closed; }};
    }
  };
  auto closed = std::make_shared<int>(0);
  auto first = system().spawn(Listener::behavior, closed);
  auto second = system().spawn(Listener::behavior, closed);
  LinkToActor handler(system(), first);
  handler.on_closed({"closed"});
  run();
  EXPECT_EQ(*closed, 1);
  handler.to(second);
  run();
  EXPECT_EQ(*closed, 2);
}

} // namespace
