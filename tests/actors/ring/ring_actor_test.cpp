// SPDX-License-Identifier: Apache-2.0
// The promise: the members of a ring start together and end together; a ring restarts
// after a loss, but not after an exception, and its caller gets the results or one error.
#include "actors/ring/ring_actor.hpp"

#include <csignal>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <caf/all.hpp>
#include <caf/scheduler/test_coordinator.hpp>
#include <gtest/gtest.h>

#include "actors/process/process_actor.hpp"
#include "base/log.hpp"
#include "fiber/detail/caf/scheduler.hpp"
#include "fiber/error.hpp"

namespace fiber::actors {
namespace {

using namespace std::chrono_literals;

/// The job of a member; the test plays it.
struct FakeMember {
  caf::actor process;
  RingPlace place;
  std::shared_ptr<const TaskBatch> task;
  std::function<void()> ended;
  std::vector<std::chrono::milliseconds> graces; ///< Of each EndProcess.
  int exits = 0;                                 ///< Exit messages.
};

std::exception_ptr killed(int signal = SIGKILL) {
  return std::make_exception_ptr(WorkerLost(0, 1, {-signal}, "killed"));
}
std::exception_ptr threw(std::string type, std::string what) {
  return std::make_exception_ptr(
    RemoteError({std::move(type), std::move(what), {}, {}}, 0, 1, "job"));
}
std::exception_ptr broke() {
  return threw("fiber::actors::RingBroken", "closed by peer");
}

/// A ring of three on CAF's test scheduler.
class RingTest : public testing::Test {
protected:
  RingTest() {
    log().set_level(spdlog::level::off);
    detail::set_scheduler(config_, "testing");
    system_ = std::make_unique<caf::actor_system>(config_);
    settings.name = "Ring-1";
    settings.size = 3;
    settings.objects = std::make_shared<ObjectSpace>(
      system_.get(), 0, [](std::uint64_t) { return nullptr; });
    settings.make_task = [](const RingPlace&, std::shared_ptr<ResultSink> sink) {
      auto call = std::make_shared<Call>();
      call->sink = std::move(sink);
      auto task = std::make_shared<TaskBatch>();
      task->call = std::move(call);
      return task;
    };
    settings.start_job = [this](caf::event_based_actor* ring, const RingPlace& place,
                                std::shared_ptr<const TaskBatch> task,
                                std::function<void()> ended) {
      return start_member(ring, place, std::move(task), std::move(ended));
    };
  }
  ~RingTest() override {
    caf::anon_send_exit(ring_, caf::exit_reason::kill);
    ring_ = nullptr;
    for (auto& member : members) {
      caf::anon_send_exit(member->process, caf::exit_reason::kill);
      *member = {};
    }
    settings.objects->close();
    do {
      run();
    } while (scheduler().trigger_timeouts() > 0 || scheduler().has_job());
  }

  void start() {
    ring_ = spawn_ring(*system_, settings);
    run();
  }
  /// Returns a member of the newest attempt.
  FakeMember& member(std::size_t rank) {
    return *members.at(members.size() - settings.size + rank);
  }
  /// The task of a member ends, but not yet its job.
  void answers(FakeMember& member, detail::RawOutcome outcome) {
    std::vector<Completion> completions(1);
    completions.front().outcome = std::move(outcome);
    member.task->call->sink->deliver(std::move(completions));
    run();
  }
  void answers(std::size_t rank, std::uint8_t byte) {
    answers(member(rank), {Payload(Bytes{std::byte{byte}}), nullptr});
  }
  void fails(std::size_t rank, const std::exception_ptr& error) {
    answers(member(rank), {{}, error});
  }
  /// The job of a member ends, unless it has ended.
  void ends(std::size_t rank) {
    if (auto ended = std::exchange(member(rank).ended, nullptr))
      ended();
    caf::anon_send_exit(member(rank).process, caf::exit_reason::kill);
    run();
  }
  /// A member is lost, and then all jobs end. No time passes.
  void lose(std::size_t rank, const std::exception_ptr& error = killed()) {
    fails(rank, error);
    end_all();
  }
  void end_all() {
    for (std::size_t rank = 0; rank < settings.size; ++rank)
      ends(rank);
    pass(0ms);
  }
  void stop_ring(caf::exit_reason reason) {
    caf::anon_send_exit(ring_, reason);
    run();
  }
  void pass(std::chrono::milliseconds time) {
    run();
    scheduler().advance_time(time);
    run();
  }
  bool is_alive() {
    auto ended = std::make_shared<bool>(false);
    ring_->attach_functor([ended](const caf::error&) { *ended = true; });
    return !*ended;
  }
  bool has_end() const { return settings.end->is_set(); }
  /// Returns the error of the ring.
  template <class E>
  std::optional<E> error() const {
    if (!has_end() || !settings.end->value()->error)
      return std::nullopt;
    try {
      std::rethrow_exception(settings.end->value()->error);
    } catch (const E& error) {
      return error;
    } catch (...) {
      return std::nullopt;
    }
  }
  /// Requires that these members, and no others, were told to end at once.
  void expect_told_to_end(const std::vector<std::size_t>& ranks) {
    std::vector<std::size_t> told;
    for (std::size_t rank = 0; rank < settings.size; ++rank)
      for (auto grace : member(rank).graces) {
        EXPECT_EQ(grace, 0ms);
        told.push_back(rank);
      }
    EXPECT_EQ(told, ranks);
  }

  RingSettings settings;
  std::vector<std::shared_ptr<FakeMember>> members; ///< All so far, by attempt and rank.

private:
  caf::scheduler::test_coordinator& scheduler() {
    return static_cast<caf::scheduler::test_coordinator&>(system_->scheduler());
  }
  void run() { scheduler().run(); }

  caf::actor start_member(caf::event_based_actor* ring, const RingPlace& place,
                          std::shared_ptr<const TaskBatch> task,
                          std::function<void()> ended) {
    auto member = std::make_shared<FakeMember>();
    member->place = place;
    member->task = std::move(task);
    member->ended = std::move(ended);
    member->process = ring->spawn(
      [](caf::event_based_actor* self,
         const std::shared_ptr<FakeMember>& member) -> caf::behavior {
        self->set_exit_handler([member](caf::exit_msg&) { ++member->exits; });
        return {[member](EndProcess end) { member->graces.push_back(end.grace); }};
      },
      member);
    members.push_back(member);
    return member->process;
  }

  caf::actor_system_config config_;
  std::unique_ptr<caf::actor_system> system_;
  caf::actor ring_;
};

// -- start and results --

TEST_F(RingTest, all_members_start_at_once_and_share_a_board) {
  start();
  ASSERT_EQ(members.size(), 3U);
  for (std::size_t rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(member(rank).place.rank, rank);
    EXPECT_EQ(member(rank).place.attempt, 1);
    EXPECT_TRUE(member(rank).place.board);
    EXPECT_EQ(member(rank).place.board, member(0).place.board);
  }
}

TEST_F(RingTest, results_come_by_rank_as_soon_as_all_are_there) {
  start();
  answers(2, 12);
  ends(2);
  answers(0, 10);
  EXPECT_FALSE(has_end());
  answers(1, 11);
  ASSERT_TRUE(has_end()); // Two jobs still run.
  auto end = settings.end->value();
  EXPECT_FALSE(end->error);
  ASSERT_EQ(end->results.size(), 3U);
  for (std::size_t rank = 0; rank < 3; ++rank)
    EXPECT_EQ(end->results[rank].value.bytes()[0], std::byte(10 + rank));
  expect_told_to_end({}); // They end by themselves.
  ends(0);
  EXPECT_TRUE(is_alive());
  ends(1);
  EXPECT_FALSE(is_alive());
  EXPECT_EQ(members.size(), 3U);
}

// -- losses --

TEST_F(RingTest, all_members_restart_when_one_is_lost) {
  start();
  auto board = member(0).place.board;
  answers(0, 10); // A result does not spare it the restart.
  fails(1, killed());
  ends(1);
  for (auto rank : {0U, 2U})
    EXPECT_EQ(member(rank).graces, std::vector{0ms});
  ends(0);
  pass(1min);
  EXPECT_EQ(members.size(), 3U); // One job has not ended.
  ends(2);
  pass(0ms);
  ASSERT_EQ(members.size(), 6U);
  for (std::size_t rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(member(rank).place.rank, rank);
    EXPECT_EQ(member(rank).place.attempt, 2);
    EXPECT_EQ(member(rank).place.board, member(0).place.board);
    EXPECT_TRUE(member(rank).graces.empty());
  }
  EXPECT_NE(member(0).place.board, board);
  EXPECT_FALSE(has_end());
}

TEST_F(RingTest, a_restarted_ring_ignores_outcomes_of_the_attempt_before) {
  start();
  lose(1);
  ASSERT_EQ(members.size(), 6U);
  answers(*members[0], {{}, threw("std::bad_alloc", "late")});
  answers(*members[0], {{}, killed()});
  expect_told_to_end({});
  for (auto rank : {0U, 1U, 2U})
    answers(rank, 1);
  ASSERT_TRUE(has_end());
  EXPECT_FALSE(settings.end->value()->error);
}

TEST_F(RingTest, repeated_losses_wait_for_the_back_off) {
  start();
  lose(0);
  ASSERT_EQ(members.size(), 6U);
  lose(1);
  pass(79ms); // The wait is 100 ms, 20 % more or less.
  EXPECT_EQ(members.size(), 6U);
  pass(41ms);
  ASSERT_EQ(members.size(), 9U);
  EXPECT_EQ(member(0).place.attempt, 3);
  lose(1);
  pass(159ms);
  EXPECT_EQ(members.size(), 9U);
  pass(81ms);
  EXPECT_EQ(members.size(), 12U);
}

TEST_F(RingTest, an_attempt_that_lived_for_ten_seconds_starts_a_fresh_row_of_losses) {
  settings.max_restarts = -1;
  start();
  lose(0);
  lose(0);
  pass(120ms);
  ASSERT_EQ(members.size(), 9U);
  pass(10001ms);
  lose(0);
  EXPECT_EQ(members.size(), 12U);
  lose(0);
  EXPECT_EQ(members.size(), 12U);
}

TEST_F(RingTest, a_ring_that_has_used_its_restarts_names_the_lost_ranks) {
  settings.max_restarts = 1;
  start();
  lose(2, killed(SIGSEGV));
  EXPECT_FALSE(has_end());
  ASSERT_EQ(members.size(), 6U);
  fails(0, killed());
  EXPECT_FALSE(has_end()); // Jobs still run.
  end_all();
  auto lost = error<WorkerLost>();
  ASSERT_TRUE(lost);
  EXPECT_STREQ(lost->what(), "Ring-1 lost a member in each of 2 attempts (rank 2: signal "
                             "11, rank 0: signal 9); last: killed");
  EXPECT_EQ(lost->index(), 0U);
  EXPECT_EQ(lost->exits(), (std::vector<std::optional<int>>{-SIGSEGV, -SIGKILL}));
  EXPECT_FALSE(is_alive());
  pass(1min);
  EXPECT_EQ(members.size(), 6U);
}

TEST_F(RingTest, a_ring_without_restarts_ends_with_its_first_loss) {
  settings.max_restarts = 0;
  start();
  lose(1);
  auto lost = error<WorkerLost>();
  ASSERT_TRUE(lost);
  EXPECT_EQ(lost->index(), 1U);
  EXPECT_EQ(members.size(), 3U);
}

TEST_F(RingTest, a_ring_without_a_limit_restarts_again_and_again) {
  settings.max_restarts = -1;
  start();
  for (std::size_t losses = 1; losses <= 20; ++losses) {
    lose(losses % 3);
    pass(10s); // The longest wait.
    ASSERT_EQ(members.size(), 3 * (losses + 1));
  }
  EXPECT_FALSE(has_end());
}

TEST_F(RingTest, a_lost_contact_waits_for_its_cause) {
  start();
  fails(0, broke());
  ends(0);
  pass(9999ms);
  expect_told_to_end({});
  fails(2, threw("std::bad_alloc", "no memory"));
  end_all();
  auto failed = error<RemoteError>();
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->type(), "std::bad_alloc");
}

TEST_F(RingTest, a_lost_contact_without_a_cause_is_a_loss) {
  start();
  fails(0, broke());
  pass(9999ms);
  expect_told_to_end({});
  pass(1ms);
  expect_told_to_end({0, 1, 2});
  end_all();
  EXPECT_EQ(members.size(), 6U);
}

TEST_F(RingTest, the_wait_for_a_cause_does_not_shorten_that_of_the_next_attempt) {
  start();
  fails(0, broke());
  pass(5s);
  end_all(); // No job is left that could tell the cause.
  ASSERT_EQ(members.size(), 6U);
  fails(1, broke());
  pass(9999ms);
  expect_told_to_end({});
  pass(1ms);
  expect_told_to_end({0, 1, 2});
}

// -- failures --

TEST_F(RingTest, a_member_that_throws_fails_the_ring_without_a_restart) {
  start();
  fails(1, threw("std::out_of_range", "no 17th"));
  ends(1);
  for (auto rank : {0U, 2U})
    EXPECT_EQ(member(rank).graces, std::vector{0ms});
  fails(0, killed()); // Because the ring has ended it.
  ends(0);
  EXPECT_FALSE(has_end()); // A job still runs.
  ends(2);
  auto failed = error<RemoteError>();
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->type(), "std::out_of_range");
  EXPECT_FALSE(is_alive());
  pass(1min);
  EXPECT_EQ(members.size(), 3U);
}

TEST_F(RingTest, a_member_without_a_job_fails_the_ring_without_a_restart) {
  start();
  lose(1, std::make_exception_ptr(BackendError("start", 28, "full")));
  auto refused = error<BackendError>();
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->status(), 28);
  pass(1min);
  EXPECT_EQ(members.size(), 3U);
}

// -- the end of the session --

TEST_F(RingTest, an_exit_ends_every_job_and_the_caller_is_told) {
  start();
  stop_ring(caf::exit_reason::user_shutdown);
  for (std::size_t rank = 0; rank < 3; ++rank)
    EXPECT_EQ(member(rank).exits, 1);
  EXPECT_TRUE(error<Closed>());
  EXPECT_TRUE(is_alive()); // Until its jobs have ended.
  lose(0);
  EXPECT_FALSE(is_alive());
  pass(1min);
  EXPECT_EQ(members.size(), 3U);
}

TEST_F(RingTest, an_exit_during_the_back_off_starts_no_job) {
  start();
  lose(0);
  lose(0);
  stop_ring(caf::exit_reason::user_shutdown);
  EXPECT_TRUE(error<Closed>());
  EXPECT_FALSE(is_alive());
  pass(1min);
  EXPECT_EQ(members.size(), 6U);
}

TEST_F(RingTest, no_caller_waits_on_if_the_actor_of_a_ring_is_killed) {
  start();
  stop_ring(caf::exit_reason::kill);
  EXPECT_TRUE(error<Closed>());
  for (std::size_t rank = 0; rank < 3; ++rank)
    EXPECT_EQ(member(rank).exits, 1);
}

TEST_F(RingTest, a_ring_that_starts_in_an_ended_session_has_no_jobs) {
  settings.objects->close();
  start();
  EXPECT_TRUE(error<Closed>());
  EXPECT_TRUE(members.empty());
  EXPECT_FALSE(is_alive());
}

} // namespace
} // namespace fiber::actors
