// SPDX-License-Identifier: Apache-2.0
// The promise: a manager replaces a lost job at once, after its back-off or not at all,
// as its restart type and the losses so far say; its callers get an answer in each case.
#include "actors/manager/manager_actor.hpp"

#include <csignal>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <caf/all.hpp>
#include <caf/scheduler/test_coordinator.hpp>
#include <gtest/gtest.h>

#include "actors/protocol/node_protocol.hpp"
#include "base/log.hpp"
#include "fiber/detail/caf/scheduler.hpp"
#include "fiber/error.hpp"

namespace fiber::actors {
namespace {

using namespace std::chrono_literals;
using detail::ObjectOp;

/// A job of the manager; the test plays it.
struct FakeJob {
  caf::actor process;
  std::shared_ptr<const TaskBatch> task;
  std::function<void()> ended;
  std::vector<std::chrono::milliseconds> graces; ///< Of each EndProcess.
  int exits = 0;                                 ///< Exit messages.
};

/// The objects in the current job. Their calls run until the job is lost.
class FakeHost final : public ObjectHome {
public:
  explicit FakeHost(ObjectSpace& space) : space_(space) {}

  void asked(ObjectAsk ask) override {
    if (ask.what != AskKind::call)
      return;
    Reader reader(ask.body.bytes());
    reader.get<std::uint64_t>();
    auto op = reader.get<ObjectOp>();
    if (op == ObjectOp::call)
      return running.push_back(ask.who);
    if (op == ObjectOp::stop)
      ++stops;
    if (!fails || op == ObjectOp::stop)
      return space_.answer(ask.who, {.what = Answer::done});
    Bytes failure;
    Writer writer(failure);
    write(writer, Failure{"NoDisk", "on purpose", "", {}});
    space_.answer(ask.who, {.what = Answer::failed, .body = Payload(std::move(failure))});
  }
  void freed(std::uint64_t) override {}
  void gone(std::uint64_t) override {}
  void close() override {}

  bool fails = false; ///< It can't make the objects.
  int stops = 0;
  std::vector<Asker> running;

private:
  ObjectSpace& space_;
};

std::exception_ptr job_killed() {
  return std::make_exception_ptr(WorkerLost(0, 1, {-SIGKILL}, "killed by SIGKILL"));
}

/// A manager on CAF's test scheduler, with one object.
class ManagerTest : public testing::Test {
protected:
  ManagerTest() {
    log().set_level(spdlog::level::off);
    detail::set_scheduler(config_, "testing");
    system_ = std::make_unique<caf::actor_system>(config_);
    space_ = std::make_shared<ObjectSpace>(system_.get(), 0,
                                           [](std::uint64_t) { return nullptr; });
  }
  ~ManagerTest() override {
    caf::anon_send_exit(manager_, caf::exit_reason::kill);
    manager_ = nullptr;
    for (auto& job : jobs) {
      caf::anon_send_exit(job->process, caf::exit_reason::kill);
      *job = {};
    }
    space_->close();
    do {
      run();
    } while (scheduler().trigger_timeouts() > 0 || scheduler().has_job());
  }

  void start(Restart restart) {
    auto objects =
      std::make_shared<ManagedObjects>(space_, restart != Restart::temporary);
    ManagerSettings settings;
    settings.restart = restart;
    settings.ended = ended;
    settings.job.name = "store";
    settings.job.objects = objects;
    settings.job.control = objects->open();
    settings.job.start = [this](caf::event_based_actor* parent, const std::string&,
                                std::shared_ptr<const TaskBatch> task,
                                const std::shared_ptr<ProcessNews>&,
                                std::function<void()> ended) {
      return start_job(parent, std::move(task), std::move(ended));
    };
    object_ = objects->add(body_of(0, ObjectOp::create), {});
    objects_ = objects;
    manager_ = spawn_manager(*system_, std::move(settings));
    run();
  }
  /// The current job makes the object, or fails to.
  void up(bool fails = false) {
    host = std::make_shared<FakeHost>(*space_);
    host->fails = fails;
    objects_->ready(space_->add(host));
    run();
  }
  /// The current job ends; `why` is the outcome of its task. No time passes.
  void lose(const std::exception_ptr& why = job_killed()) {
    if (host)
      for (auto& who : std::exchange(host->running, {}))
        space_->answer(who, {});
    auto& job = *jobs.back();
    std::vector<Completion> completions(1);
    completions.front().outcome.error = why;
    job.task->call->sink->deliver(std::move(completions));
    job.ended();
    caf::anon_send_exit(job.process, caf::exit_reason::kill);
    pass(0ms);
  }
  template <class Message>
  void tell(Message message) {
    caf::anon_send(manager_, std::move(message));
    run();
  }
  void session_ends() {
    caf::anon_send_exit(manager_, caf::exit_reason::user_shutdown);
    run();
  }
  void pass(std::chrono::milliseconds time) {
    run();
    scheduler().advance_time(time);
    run();
  }

  /// The answer to a call of the object, once it is there.
  using Outcome = std::shared_ptr<std::optional<ObjectAnswer>>;
  Outcome call() {
    auto outcome = std::make_shared<std::optional<ObjectAnswer>>();
    auto id = object_->held_id();
    space_->ask(
      id, AskKind::call, body_of(id.number, ObjectOp::call), {},
      [outcome](std::uint64_t, ObjectAnswer answer) { *outcome = std::move(answer); });
    run();
    return outcome;
  }
  /// Returns the error that a caller got.
  template <class E>
  static std::optional<E> error_of(const Outcome& outcome) {
    if (!outcome->has_value() || (*outcome)->what != Answer::lost || !(*outcome)->error)
      return std::nullopt;
    try {
      std::rethrow_exception((*outcome)->error);
    } catch (const E& error) {
      return error;
    } catch (...) {
      return std::nullopt;
    }
  }

  std::vector<std::shared_ptr<FakeJob>> jobs; ///< All so far.
  std::shared_ptr<FakeHost> host;             ///< Of the last job that was up.
  std::shared_ptr<Signal> ended = std::make_shared<Signal>();

private:
  caf::scheduler::test_coordinator& scheduler() {
    return static_cast<caf::scheduler::test_coordinator&>(system_->scheduler());
  }
  void run() { scheduler().run(); }

  static Payload body_of(std::uint64_t number, ObjectOp op) {
    Bytes bytes;
    Writer writer(bytes);
    writer.put(number);
    writer.put(op);
    return Payload(std::move(bytes));
  }

  caf::actor start_job(caf::event_based_actor* parent,
                       std::shared_ptr<const TaskBatch> task,
                       std::function<void()> ended) {
    auto job = std::make_shared<FakeJob>();
    job->task = std::move(task);
    job->ended = std::move(ended);
    job->process = parent->spawn(
      [](caf::event_based_actor* self,
         const std::shared_ptr<FakeJob>& job) -> caf::behavior {
        self->set_exit_handler([job](caf::exit_msg&) { ++job->exits; });
        return {[job](EndProcess end) { job->graces.push_back(end.grace); }};
      },
      job);
    jobs.push_back(job);
    return job->process;
  }

  caf::actor_system_config config_;
  std::unique_ptr<caf::actor_system> system_;
  std::shared_ptr<ObjectSpace> space_;
  std::shared_ptr<ManagedObjects> objects_;
  std::shared_ptr<ObjectHandle> object_;
  caf::actor manager_;
};

// -- losses --

TEST_F(ManagerTest, a_temporary_manager_does_not_restart_and_tells_its_callers_why) {
  start(Restart::temporary);
  up();
  auto running = call();
  ASSERT_EQ(host->running.size(), 1U);
  lose();
  auto later = call();
  for (auto& each : {running, later}) {
    auto error = error_of<WorkerLost>(each);
    ASSERT_TRUE(error);
    EXPECT_EQ(error->reason(), "killed by SIGKILL");
    EXPECT_EQ(error->exits(), std::vector<std::optional<int>>{-SIGKILL});
  }
  pass(1min);
  EXPECT_EQ(jobs.size(), 1U);
  EXPECT_FALSE(ended->is_set()); // Its caller ends it.
  tell(EndManager{});
  EXPECT_TRUE(ended->is_set());
}

TEST_F(ManagerTest, a_permanent_manager_restarts_at_once_after_the_first_loss) {
  start(Restart::permanent);
  up();
  auto running = call();
  lose();
  EXPECT_EQ(jobs.size(), 2U);
  EXPECT_TRUE(error_of<WorkerLost>(running)); // It may have run.
  auto waiting = call();
  EXPECT_FALSE(waiting->has_value());
  up();
  EXPECT_EQ(host->running.size(), 1U);
}

TEST_F(ManagerTest, a_manager_restarts_after_the_back_off_after_the_second_loss) {
  start(Restart::permanent);
  lose();
  lose();
  pass(79ms); // The wait is 100 ms, 20 % more or less.
  EXPECT_EQ(jobs.size(), 2U);
  pass(41ms);
  EXPECT_EQ(jobs.size(), 3U);
  lose();
  pass(159ms);
  EXPECT_EQ(jobs.size(), 3U);
  pass(81ms);
  EXPECT_EQ(jobs.size(), 4U);
}

TEST_F(ManagerTest, a_manager_gives_up_when_it_loses_more_than_five_jobs_in_ten_seconds) {
  start(Restart::permanent);
  for (std::size_t losses = 1; losses <= 5; ++losses) {
    lose();
    pass(1s);
    ASSERT_EQ(jobs.size(), losses + 1);
  }
  auto waiting = call();
  lose();
  EXPECT_TRUE(error_of<WorkerLost>(waiting));
  EXPECT_TRUE(error_of<WorkerLost>(call()));
  pass(1min);
  EXPECT_EQ(jobs.size(), 6U);
}

TEST_F(ManagerTest, losses_that_are_older_than_ten_seconds_do_not_count) {
  start(Restart::permanent);
  for (std::size_t losses = 1; losses <= 20; ++losses) {
    lose();
    pass(2100ms); // Longer than the waits.
    if (losses % 4 == 0)
      pass(11s);
    ASSERT_EQ(jobs.size(), losses + 1);
  }
}

TEST_F(ManagerTest, a_job_that_lived_for_ten_seconds_starts_a_fresh_row_of_losses) {
  start(Restart::permanent);
  lose();
  lose();
  pass(120ms);
  ASSERT_EQ(jobs.size(), 3U);
  pass(9s);
  lose(); // The row goes on.
  EXPECT_EQ(jobs.size(), 3U);
  pass(240ms);
  ASSERT_EQ(jobs.size(), 4U);
  pass(10001ms);
  lose();
  EXPECT_EQ(jobs.size(), 5U);
  lose();
  EXPECT_EQ(jobs.size(), 5U);
  pass(120ms);
  EXPECT_EQ(jobs.size(), 6U);
}

TEST_F(ManagerTest, a_job_whose_task_returns_unasked_is_a_loss) {
  start(Restart::temporary);
  auto waiting = call();
  lose(nullptr);
  auto error = error_of<Closed>(waiting);
  ASSERT_TRUE(error);
  EXPECT_STREQ(error->what(), "store has ended by itself");
}

// -- objects that can't be made --

TEST_F(ManagerTest, a_job_that_can_not_make_the_objects_is_killed_and_counts_as_a_loss) {
  start(Restart::permanent);
  for (std::size_t losses = 1; losses <= 2; ++losses) {
    up(true);
    EXPECT_EQ(jobs.back()->graces, std::vector{0ms});
    EXPECT_EQ(jobs.size(), losses); // A job at a time.
    lose();
  }
  EXPECT_EQ(jobs.size(), 2U);
  pass(79ms);
  EXPECT_EQ(jobs.size(), 2U);
  pass(41ms);
  EXPECT_EQ(jobs.size(), 3U);
  auto waiting = call();
  up();
  EXPECT_TRUE(jobs.back()->graces.empty());
  EXPECT_EQ(host->running.size(), 1U);
}

TEST_F(ManagerTest, callers_are_told_why_the_objects_could_not_be_made) {
  start(Restart::temporary);
  auto waiting = call();
  up(true);
  lose(); // The kill is only a consequence.
  auto error = error_of<RemoteError>(waiting);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->type(), "NoDisk");
}

// -- the end --

TEST_F(ManagerTest, the_end_of_a_manager_kills_its_job_after_the_grace) {
  start(Restart::permanent);
  up();
  auto running = call();
  tell(EndManager{});
  EXPECT_EQ(host->stops, 1);
  pass(4999ms);
  EXPECT_TRUE(jobs.back()->graces.empty()); // The call may run on.
  EXPECT_FALSE(running->has_value());
  pass(1ms);
  EXPECT_EQ(jobs.back()->graces, std::vector{0ms});
  EXPECT_FALSE(ended->is_set());
  lose();
  EXPECT_TRUE(ended->is_set());
  ASSERT_TRUE(running->has_value());
  EXPECT_EQ((*running)->what, Answer::closed);
  pass(1min);
  EXPECT_EQ(jobs.size(), 1U);
}

TEST_F(ManagerTest, a_manager_has_ended_when_its_job_ends_within_the_grace) {
  start(Restart::permanent);
  up();
  tell(EndManager{});
  tell(EndManager{}); // Nothing more.
  EXPECT_EQ(host->stops, 1);
  EXPECT_FALSE(ended->is_set());
  lose(nullptr);
  EXPECT_TRUE(ended->is_set());
  EXPECT_TRUE(jobs.back()->graces.empty());
  pass(1min);
  EXPECT_EQ(jobs.size(), 1U);
}

TEST_F(ManagerTest, a_manager_that_ends_during_its_back_off_starts_no_job) {
  start(Restart::permanent);
  lose();
  lose();
  auto waiting = call();
  tell(EndManager{});
  EXPECT_TRUE(ended->is_set());
  ASSERT_TRUE(waiting->has_value());
  EXPECT_EQ((*waiting)->what, Answer::closed);
  pass(1min);
  EXPECT_EQ(jobs.size(), 2U);
}

TEST_F(ManagerTest, an_exit_message_ends_the_job) {
  start(Restart::permanent);
  up();
  session_ends();
  EXPECT_EQ(jobs.back()->exits, 1);
  EXPECT_FALSE(ended->is_set());
  lose();
  EXPECT_TRUE(ended->is_set());
  pass(1min);
  EXPECT_EQ(jobs.size(), 1U);
}

TEST_F(ManagerTest, an_exit_message_during_the_back_off_ends_the_manager) {
  start(Restart::permanent);
  lose();
  lose();
  session_ends();
  EXPECT_TRUE(ended->is_set());
  pass(1min);
  EXPECT_EQ(jobs.size(), 2U);
}

} // namespace
} // namespace fiber::actors
