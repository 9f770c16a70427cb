// SPDX-License-Identifier: Apache-2.0
// The promise: where there is room for some workers only, these do the work, and the
// others are started when there is room, without haste.
#include "tests/actors/pool/pool_fixture.hpp"

#include "tests/backends/heard_log.hpp"

namespace fiber::actors {
namespace {

using namespace std::chrono_literals;

class PoolShortage : public PoolTest {
protected:
  PoolShortage() { log().set_level(spdlog::level::warn); }

  /// There is no room for the job of this worker. Returns how the pool judges that.
  ExitKind no_room(std::size_t worker) {
    return lose(NodeLost{.incarnation = 99,
                         .name = "pool.w" + std::to_string(worker),
                         .exit_code = {},
                         .reason = "create job: too many open files",
                         .cause = LossCause::shortage,
                         .status = 24});
  }
  /// The worker that was started last finds no room either.
  void no_room_again() {
    EXPECT_EQ(no_room(last_started()), ExitKind::planned);
    end_job(ExitKind::planned);
  }
  std::size_t last_started() const { return std::stoul(last_name().substr(6)); }

  backends::HeardLog heard_;
};

TEST_F(PoolShortage, leaves_the_work_to_the_workers_there_are) {
  settings.workers = 4;
  submit(8, 4);
  auto& inbox = up(1, nullptr, 0);
  for (std::size_t worker = 1; worker < 4; ++worker)
    EXPECT_EQ(no_room(worker), ExitKind::planned) << "no supervisor may replace it";
  answer(1, inbox.runs.at(0).first_seq, 4);
  answer(1, inbox.runs.at(1).first_seq, 4);
  for (std::size_t task = 0; task < 8; ++task)
    EXPECT_TRUE(has_value(task)) << task;
  EXPECT_EQ(stats().workers, 1u);
}

TEST_F(PoolShortage, tries_one_missing_worker_at_a_time_and_waits_longer_each_time) {
  settings.workers = 4;
  submit(1);
  up(1, nullptr, 0);
  for (std::size_t worker = 1; worker < 4; ++worker)
    no_room(worker);
  EXPECT_EQ(jobs(), 4u);
  pass(1s);
  EXPECT_EQ(jobs(), 5u);
  for (auto wait : {2s, 4s, 8s, 16s, 30s, 30s}) {
    auto before = jobs();
    no_room_again();
    pass(wait - 1ms);
    EXPECT_EQ(jobs(), before) << "before " << wait.count() << " s";
    pass(1ms);
    EXPECT_EQ(jobs(), before + 1) << "after " << wait.count() << " s";
  }
}

TEST_F(PoolShortage, ends_at_once_when_there_is_room) {
  settings.workers = 4;
  submit(1);
  up(1, nullptr, 0);
  for (std::size_t worker = 1; worker < 4; ++worker)
    no_room(worker);
  pass(1s);
  for (std::uint64_t incarnation = 2; incarnation <= 4; ++incarnation)
    up(incarnation); // Each lets the pool try the next.
  EXPECT_EQ(stats().workers, 4u);
  EXPECT_EQ(jobs(), 7u);
  pass(60s);
  EXPECT_EQ(jobs(), 7u);
}

TEST_F(PoolShortage, never_uses_up_the_restarts_that_a_pool_is_allowed) {
  settings.workers = 2;
  submit(1);
  auto& inbox = up(1, nullptr, 0);
  no_room(1);
  for (int i = 0; i < 100; ++i) {
    pass(30s);
    no_room_again();
  }
  answer(1, inbox.runs.at(0).first_seq);
  EXPECT_TRUE(has_value(0));
  EXPECT_EQ(stats().workers, 1u);
}

TEST_F(PoolShortage, is_told_once_with_the_numbers_and_the_reason) {
  settings.workers = 40;
  submit(1);
  up(1, nullptr, 0);
  up(2, nullptr, 1);
  for (std::size_t worker = 2; worker < 40; ++worker)
    no_room(worker);
  for (int i = 0; i < 20; ++i) {
    pass(30s);
    no_room_again();
  }
  EXPECT_EQ(heard_.count("\n"), 1u) << heard_.text();
  EXPECT_TRUE(heard_.has("pool: 2 of 40 workers run, and there is no room for more: "
                         "create job: too many open files"))
    << heard_.text();
}

TEST_F(PoolShortage, fails_a_pool_without_any_worker_at_its_deadline_with_the_reason) {
  settings.workers = 2;
  settings.start_deadline = 5s;
  submit(1);
  no_room(0);
  no_room(1);
  for (int i = 0; i < 4; ++i) {
    EXPECT_TRUE(results->outcomes.empty()) << "too early";
    pass(1s);
    if (jobs() > 2)
      no_room(last_started());
  }
  pass(8s);
  try {
    std::rethrow_exception(failure(0));
  } catch (const BackendError& error) {
    EXPECT_EQ(error.status(), 24);
    EXPECT_NE(
      std::string(error.what()).find("within 5 s: create job: too many open files"),
      std::string::npos)
      << error.what();
  }
}

TEST_F(PoolShortage, waits_with_those_that_are_starting) {
  settings.workers = 2;
  settings.start_deadline = 5s;
  submit(1);
  no_room(1); // The other one waits in the queue of a cluster.
  pass(1s);
  no_room_again();
  pass(60s);
  EXPECT_TRUE(results->outcomes.empty());
  up(1, nullptr, 0);
  EXPECT_EQ(stats().workers, 1u);
}

TEST_F(PoolShortage, is_over_for_workers_that_are_no_longer_wanted) {
  settings.workers = 3;
  submit(1);
  up(1, nullptr, 0);
  no_room(1);
  no_room(2);
  tell(Resize{1});
  pass(60s);
  EXPECT_EQ(jobs(), 3u);
  tell(Resize{2}); // It is tried at once.
  EXPECT_EQ(jobs(), 4u);
}

} // namespace
} // namespace fiber::actors
