// SPDX-License-Identifier: Apache-2.0
// The promise: how the pool reacts to each single event. The tests play its nodes.

#include <sstream>

#include <spdlog/sinks/ostream_sink.h>

#include "tests/actors/pool/pool_fixture.hpp"

namespace fiber::actors {
namespace {

int second_of(const std::string&, int x) {
  return x;
}

TEST_F(PoolTest, a_callable_is_sent_once_and_tasks_as_the_slot_answers) {
  submit(3);
  auto& node = up(1);
  ASSERT_EQ(node.runs.size(), 1u);
  for (std::uint64_t seq = 1; seq <= 3; ++seq)
    answer(1, seq);
  EXPECT_EQ(node.opened, 1u);
  EXPECT_TRUE(has_value(0) && has_value(1) && has_value(2));
}

TEST_F(PoolTest, the_end_of_a_call_travels_behind_the_tasks_of_the_next_one) {
  submit(1);
  auto& node = up(1);
  answer(1, 1);
  EXPECT_EQ(node.operations, (std::vector{Op::open, Op::run}));
  submit_call(2, AnyCallable::of<int, false>(&same), 1);
  EXPECT_EQ(node.operations,
            (std::vector{Op::open, Op::run, Op::open, Op::run, Op::close}));
}

TEST_F(PoolTest, a_node_hears_of_the_end_of_a_call_though_no_other_call_follows) {
  submit(1);
  auto& node = up(1);
  answer(1, 1);
  pass(std::chrono::milliseconds(49));
  EXPECT_EQ(node.operations, (std::vector{Op::open, Op::run}));
  pass(std::chrono::milliseconds(1));
  EXPECT_EQ(node.operations, (std::vector{Op::open, Op::run, Op::close}));
}

// Whatever follows the body of a frame would be read as a part of it.
TEST_F(PoolTest, the_end_of_a_call_never_follows_a_large_callable_in_its_frame) {
  submit(1);
  auto& node = up(1);
  answer(1, 1);
  const auto large = fiber::bind(second_of, std::string(own_message_bytes, 'x'));
  submit_call(2, AnyCallable::of<int, false>(large), 1);
  EXPECT_EQ(node.operations,
            (std::vector{Op::open, Op::run, Op::open, Op::run, Op::close}));
}

TEST_F(PoolTest, a_worker_hears_of_the_end_of_a_call_before_it_retires) {
  settings.max_tasks_per_worker = 1;
  submit(1);
  auto& node = up(1);
  answer(1, 1);
  EXPECT_EQ(node.operations, (std::vector{Op::open, Op::run, Op::close, Op::retire}));
}

TEST_F(PoolTest, a_large_callable_is_dropped_as_soon_as_its_call_is_over) {
  start_pool();
  const auto large = fiber::bind(second_of, std::string(own_message_bytes, 'x'));
  submit_call(1, AnyCallable::of<int, false>(large), 1);
  auto& node = up(1);
  answer(1, 1);
  EXPECT_EQ(node.operations, (std::vector{Op::open, Op::run, Op::close}));
}

// The driver answers one worker after the other, so many workers must not need it often.
TEST_F(PoolTest, slots_get_more_tasks_at_a_time_if_there_are_more_workers) {
  std::size_t given = 0, held_us = 0;
  for (std::size_t slots : {1, 64}) {
    settings.workers_per_job = slots;
    submit(10000, 0);
    auto& node = up(1);
    ASSERT_EQ(node.runs.size(), slots);
    answer(1, 1, 1, 0, std::chrono::milliseconds(1));
    auto& more = node.runs.back();
    EXPECT_EQ(more.slot, 0u);
    EXPECT_GT(more.lengths.size(), given);
    EXPECT_GT(more.hold_us, held_us);
    given = more.lengths.size();
    held_us = more.hold_us;
  }
}

// Else the first tasks of a long call would be handed out one by one.
TEST_F(PoolTest, even_shares_count_the_tasks_that_are_still_to_come) {
  for (std::size_t to_come : {0, 10000}) {
    settings.workers_per_job = 64;
    submit(64 + 8, 0, to_come);
    auto& node = up(1);
    answer(1, 1, 1, 0, std::chrono::milliseconds(3)); // One is worth a message.
    EXPECT_EQ(node.runs.back().lengths.size(), to_come > 0 ? 8u : 1u);
  }
}

// A thousand workers would need the driver for every few tasks.
TEST_F(PoolTest,
       near_the_end_slots_get_what_is_worth_a_message_when_they_are_almost_idle) {
  settings.workers_per_job = 1000;
  submit(15000, 0);
  auto& node = up(1);
  ASSERT_EQ(node.runs.size(), 1000u); // A task each, as nothing is known of them.
  answer(1, 1, 1, 0, std::chrono::milliseconds(5));
  ASSERT_EQ(node.runs.size(), 1001u);
  const auto worth = node.runs.back().lengths.size();
  EXPECT_EQ(worth, 9u) << "half of an even share has 7 tasks";
  const auto first = node.runs.back().first_seq;
  answer(1, first, worth - worth / 2 - 1, 0, std::chrono::milliseconds(5));
  EXPECT_EQ(node.runs.size(), 1001u) << "more than half of a message is left";
  answer(1, first + worth - worth / 2 - 1, 1, 0, std::chrono::milliseconds(5));
  ASSERT_EQ(node.runs.size(), 1002u);
  EXPECT_EQ(node.runs.back().lengths.size(), worth);
}

TEST_F(PoolTest, the_pool_refuses_duplicate_results_and_those_of_lost_nodes) {
  submit(2);
  up(1);
  answer(1, 1);
  answer(1, 1);
  EXPECT_EQ(stats().late, 1u);
  end_job(lose(1));
  answer(1, 2);
  EXPECT_EQ(stats().late, 2u);
  EXPECT_TRUE(results->outcomes[1].empty());
  up(2);
  answer(2, 1);
  EXPECT_TRUE(has_value(1));
}

TEST_F(PoolTest, the_first_unanswered_task_is_charged_and_retried_alone) {
  submit(4, 4);
  EXPECT_EQ(up(1).runs.at(0).lengths.size(), 4u);
  answer(1, 1);
  auto kind = lose(1);
  EXPECT_EQ(kind, ExitKind::charged);
  end_job(kind);
  auto& next = up(2);
  ASSERT_EQ(next.runs.size(), 1u);
  EXPECT_EQ(next.runs[0].first_index, 1u);
  EXPECT_EQ(next.runs[0].lengths.size(), 1u);
  EXPECT_EQ(next.runs[0].attempt, 2u);
}

TEST_F(PoolTest, the_task_that_was_announced_is_charged) {
  submit(4, 4);
  auto page = backends::SharedPage::create(4096);
  up(1, page);
  SlotProgress::announce(page->data(), 0, 3);
  end_job(lose(1));
  auto& next = up(2);
  ASSERT_FALSE(next.runs.empty());
  EXPECT_EQ(next.runs[0].first_index, 2u);
}

TEST_F(PoolTest, all_slots_get_work_again_when_a_suspect_has_ended) {
  settings.workers_per_job = 2;
  submit(100);
  up(1);
  end_job(lose(1)); // The first task of each slot is charged.
  auto& next = up(2);
  ASSERT_EQ(next.runs.size(), 1u) << "it runs alone";
  answer(2, 1);
  ASSERT_EQ(next.runs.size(), 2u) << "so does the other one";
  answer(2, 2);
  ASSERT_GE(next.runs.size(), 4u);
  EXPECT_EQ(next.runs[2].slot + next.runs[3].slot, 1u) << "one slot has nothing";
}

TEST_F(PoolTest, the_loss_of_an_idle_worker_charges_no_task) {
  submit(1);
  up(1);
  answer(1, 1);
  EXPECT_EQ(lose(1), ExitKind::lost);
}

TEST_F(PoolTest, a_task_fails_after_its_retries_and_tells_all_exit_codes) {
  settings.max_retries = 1;
  submit(1);
  up(1);
  end_job(lose(1, -11));
  up(2);
  lose(2, 3);
  ASSERT_EQ(results->outcomes[0].size(), 1u);
  try {
    std::rethrow_exception(results->outcomes[0][0].error);
  } catch (const WorkerLost& lost) {
    EXPECT_EQ(lost.attempts(), 2);
    EXPECT_EQ(lost.exits(), (std::vector<std::optional<int>>{-11, 3}));
  }
}

TEST_F(PoolTest, the_task_that_a_crash_report_names_is_charged) {
  settings.max_retries = 0;
  submit(4, 4);
  up(1); // No page: without the report the first task would be charged.
  NodeLost lost{.incarnation = 1,
                .name = "pool.w0",
                .exit_code = -11,
                .confirmed = true,
                .reason = "killed by SIGSEGV"};
  lost.last.crash = CrashReport{.signal = 11,
                                .address = {},
                                .slot = 0,
                                .seq = 2,
                                .uncaught = {},
                                .frames = {{"", "", 0x1234}}};
  lost.last.lines = "last words";
  end_job(lose(lost));
  ASSERT_EQ(results->outcomes.size(), 2u); // The result of the first task is lost too.
  for (std::size_t i = 0; i < 2; ++i)
    try {
      std::rethrow_exception(failure(i));
    } catch (const WorkerLost& error) {
      EXPECT_EQ(error.last_log(), "last words");
      EXPECT_EQ(error.stack(), i == 1 ? "0x1234" : "");
    }
  auto& next = up(2);
  ASSERT_EQ(next.runs.size(), 2u);
  EXPECT_EQ(next.runs[0].first_index, 2u);
}

// A task that was handed back before it began has not run.
TEST_F(PoolTest, a_retry_counts_once_even_if_the_task_is_handed_back) {
  submit(1);
  up(1);
  end_job(lose(1));
  up(2);
  EXPECT_EQ(stats().retries, 1u);
  tell(NodeDraining{2});
  tell(NodeHandedBack{2, {0, 1, 2}});
  EXPECT_EQ(stats().queued, 1u);
  EXPECT_EQ(stats().retries, 1u);
}

TEST_F(PoolTest, the_bytes_of_late_results_are_counted) {
  submit(1);
  up(1);
  end_job(lose(1));
  auto before = stats();
  answer(1, 1);
  EXPECT_EQ(stats().late, before.late + 1);
  EXPECT_EQ(stats().bytes_received, before.bytes_received + 4);
}

TEST_F(PoolTest, percentiles_include_the_longest_task_of_a_frame) {
  submit(4, 4);
  up(1);
  NodeResults news{1, {}};
  news.results.first_seq = 1;
  news.results.busy_ns = 10'000'000 + 3 * 100'000;
  news.results.longest_ns = 10'000'000;
  for (std::size_t i = 0; i < 4; ++i)
    news.results.results.push_back({TaskResult::Status::value, 4, 4 * i});
  news.results.bytes = Payload(Bytes(16));
  tell(std::move(news));
  auto us = [](auto time) { return static_cast<double>(time.count()); };
  EXPECT_NEAR(us(stats().p50), 100, 13);
  EXPECT_NEAR(us(stats().p99), 10'000, 1300);
}

TEST(DurationCounts, duration_counts_tell_how_many_were_shorter_than_a_power_of_two) {
  DurationCounts counts;
  for (std::uint64_t ns : {0, 1, 3, 4, 1023, 1024, 5000})
    counts.add(ns, 1);
  EXPECT_EQ(counts.below(0), 1u);
  EXPECT_EQ(counts.below(2), 3u);
  EXPECT_EQ(counts.below(10), 5u);
  EXPECT_EQ(counts.below(12), 6u);
  EXPECT_EQ(counts.below(13), 7u);
  EXPECT_EQ(counts.sum_ns(), 7055u);
}

TEST_F(PoolTest, a_draining_node_charges_no_task) {
  submit(3, 3);
  auto& node = up(1);
  tell(NodeDraining{1});
  tell(NodeHandedBack{1, {0, 2, 4}});
  EXPECT_EQ(stats().queued, 2u);
  EXPECT_FALSE(node.retired); // It still has a task.
  answer(1, 1);
  EXPECT_TRUE(node.retired);
  EXPECT_EQ(lose(1, 0), ExitKind::planned);
  EXPECT_EQ(stats().workers_lost, 0u);
}

TEST_F(PoolTest, a_node_that_drained_before_it_was_ready_is_not_counted_as_lost) {
  submit(1);
  NodeLost lost;
  lost.name = "pool.w0";
  lost.planned = true;
  EXPECT_EQ(lose(lost), ExitKind::planned);
  EXPECT_EQ(stats().workers_lost, 0u);
}

TEST_F(PoolTest, without_retries_tasks_that_an_ended_worker_had_not_begun_run) {
  settings.max_retries = 0;
  submit(4, 4);
  auto page = backends::SharedPage::create(4096);
  up(1, page);
  SlotProgress::announce(page->data(), 0, 2);
  end_job(lose(1));
  auto& next = up(2);
  ASSERT_EQ(next.runs.size(), 2u);
  EXPECT_EQ(next.runs[0].first_index, 2u);
  EXPECT_EQ(next.runs[1].first_index, 3u);
  EXPECT_EQ(results->outcomes.size(), 2u);
}

TEST_F(PoolTest, without_retries_tasks_that_may_start_in_a_dead_worker_do_not_rerun) {
  settings.max_retries = 0;
  submit(4, 4);
  auto page = backends::SharedPage::create(4096);
  up(1, page);
  SlotProgress::announce(page->data(), 0, 2);
  end_job(lose(1, -9, false)); // Its end is not confirmed: it may start a third task.
  EXPECT_TRUE(up(2).runs.empty());
  for (std::size_t i = 0; i < 4; ++i) {
    ASSERT_EQ(results->outcomes[i].size(), 1u);
    EXPECT_THROW(std::rethrow_exception(results->outcomes[i][0].error), WorkerLost);
  }
}

TEST_F(PoolTest, a_resized_pool_allows_restarts_for_its_new_size) {
  submit(1);
  tell(Resize{10});
  ASSERT_EQ(jobs(), 10u);
  for (std::size_t i = 0; i < 10; ++i)
    end_job(i, ExitKind::lost);
  EXPECT_EQ(jobs(), 20u);
  EXPECT_TRUE(results->outcomes.empty()); // The pool has not given up.
}

TEST_F(PoolTest, a_resized_pool_answers_callers_that_wait_for_workers) {
  settings.workers = 2;
  submit(1);
  auto all = std::make_shared<WorkersReply>();
  tell(AwaitWorkers{all});
  up(1, nullptr, 0);
  EXPECT_FALSE(all->is_set());
  tell(Resize{1});
  ASSERT_TRUE(all->is_set());
  EXPECT_FALSE(all->value());
}

TEST_F(PoolTest, the_pool_forgets_callers_that_no_longer_wait_for_workers) {
  submit(1);
  auto gone = std::make_shared<WorkersReply>();
  std::weak_ptr<WorkersReply> kept = gone;
  tell(AwaitWorkers{std::move(gone)});
  tell(AwaitWorkers{std::make_shared<WorkersReply>()});
  EXPECT_TRUE(kept.expired());
}

TEST_F(PoolTest, lost_workers_are_logged_once_a_second) {
  std::ostringstream text;
  auto sink = std::make_shared<spdlog::sinks::ostream_sink_mt>(text);
  log().sinks().push_back(sink);
  log().set_level(spdlog::level::warn);
  submit(1);
  for (auto i = 0; i < 3; ++i) {
    up(1);
    lose(1);
  }
  auto once = text.str();
  pass(std::chrono::seconds(2));
  lose(1);
  log().set_level(spdlog::level::off);
  std::erase(log().sinks(), sink);
  EXPECT_NE(once.find("pool.w0 is lost: lost"), std::string::npos) << once;
  EXPECT_EQ(std::count(once.begin(), once.end(), '\n'), 1) << once;
  EXPECT_NE(text.str().find("2 more"), std::string::npos) << text.str();
}

TEST_F(PoolTest, the_pool_gives_up_at_once_when_a_job_runs_another_build) {
  settings.workers = 2;
  submit(3);
  auto& other = up(1);
  EXPECT_EQ(lose(LossCause::other_build), ExitKind::planned);
  EXPECT_TRUE(other.killed);
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_THROW(std::rethrow_exception(failure(i)), VersionMismatch);
  auto reply = std::make_shared<WorkersReply>();
  tell(AwaitWorkers{reply});
  ASSERT_TRUE(reply->is_set());
  EXPECT_THROW(std::rethrow_exception(reply->value()), VersionMismatch);
}

TEST_F(PoolTest, the_pool_gives_up_when_its_first_worker_was_not_ready_in_time) {
  submit(1);
  EXPECT_EQ(lose(LossCause::late), ExitKind::planned);
  EXPECT_THROW(std::rethrow_exception(failure(0)), TimeoutError);
}

TEST_F(PoolTest, the_pool_gives_up_when_no_worker_is_up_and_one_had_no_room_in_time) {
  submit(1);
  EXPECT_EQ(lose(LossCause::queued), ExitKind::planned);
  EXPECT_THROW(std::rethrow_exception(failure(0)), TimeoutError);
}

TEST_F(PoolTest, the_pool_gives_up_when_its_workers_are_lost_and_there_is_no_room) {
  submit(1);
  up(1);
  EXPECT_EQ(lose(1), ExitKind::charged);
  EXPECT_EQ(lose(LossCause::queued), ExitKind::planned);
  EXPECT_THROW(std::rethrow_exception(failure(0)), TimeoutError);
}

TEST_F(PoolTest, a_worker_without_room_waits_again_while_another_one_is_up) {
  settings.workers = 2;
  submit(1);
  up(1);
  for (int i = 0; i < 100; ++i) // Is no failure, of which a pool survives few.
    EXPECT_EQ(lose(LossCause::queued), ExitKind::lease);
}

TEST_F(PoolTest, the_pool_gives_up_when_its_first_worker_could_not_reach_the_driver) {
  submit(1);
  EXPECT_EQ(lose(LossCause::unreachable), ExitKind::planned);
  EXPECT_THROW(std::rethrow_exception(failure(0)), BackendError);
}

TEST_F(PoolTest, a_late_worker_is_replaced_if_another_has_been_ready) {
  submit(1);
  up(1);
  EXPECT_EQ(lose(1), ExitKind::charged);
  EXPECT_EQ(lose(LossCause::late), ExitKind::lost);
  EXPECT_EQ(lose(LossCause::unreachable), ExitKind::lost);
  EXPECT_EQ(up(2).runs.size(), 1u);
}

TEST_F(PoolTest, the_pool_reports_that_no_worker_was_ready_in_time) {
  submit(1);
  up(1);
  EXPECT_EQ(lose(1), ExitKind::charged);
  EXPECT_EQ(lose(LossCause::late), ExitKind::lost);
  kill_supervisor();
  EXPECT_THROW(std::rethrow_exception(failure(0)), TimeoutError);
}

TEST_F(PoolTest, the_error_holds_the_status_of_an_engine_that_refuses) {
  submit(1);
  EXPECT_EQ(lose(LossCause::refused, 403), ExitKind::lost);
  kill_supervisor();
  try {
    std::rethrow_exception(failure(0));
  } catch (const BackendError& error) {
    EXPECT_EQ(error.status(), 403);
  }
}

TEST_F(PoolTest, the_pool_gives_up_at_once_when_the_engine_reports_not_found) {
  submit(1);
  EXPECT_EQ(lose(LossCause::refused, 404), ExitKind::planned);
  ASSERT_EQ(results->outcomes[0].size(), 1u);
  EXPECT_THROW(std::rethrow_exception(results->outcomes[0][0].error), BackendError);
}

TEST_F(PoolTest, the_end_of_the_supervisor_ends_the_tasks_of_all_nodes) {
  submit(2);
  up(1); // Its loss is never reported.
  kill_supervisor();
  ASSERT_EQ(results->outcomes[0].size(), 1u);
  ASSERT_EQ(results->outcomes[1].size(), 1u);
  EXPECT_THROW(std::rethrow_exception(results->outcomes[0][0].error), BackendError);
}

} // namespace
} // namespace fiber::actors
