// SPDX-License-Identifier: Apache-2.0
// The promise: what the pool does about each single event, with nodes that are played by
// hand.

#include "actors/pool_actor.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include <caf/all.hpp>
#include <caf/scheduler/test_coordinator.hpp>
#include <gtest/gtest.h>

#include "actors/exit.hpp"
#include "actors/node_table.hpp"
#include "wire/log.hpp"

using namespace fiber;
using namespace fiber::actors;

namespace {

int same(int x) {
  return x;
}

/// What one node was sent.
struct Inbox {
  std::vector<RunTasks> runs;
  std::vector<Recall> recalls;
  std::size_t opened = 0;
  bool retired = false, killed = false;
};

class Results final : public ResultSink {
public:
  void deliver(std::vector<Completion> completions) override {
    for (auto& completion : completions)
      outcomes[completion.index].push_back(completion.outcome);
  }
  std::map<std::size_t, std::vector<detail::RawOutcome>> outcomes;
};

class PoolTest : public testing::Test {
protected:
  PoolTest() {
    log().set_level(spdlog::level::off);
    config_.set("scheduler.policy", caf::atom("testing"));
    system_ = std::make_unique<caf::actor_system>(config_);
    settings.name = "pool";
    settings.seed = 1;
    settings.start_node = [this](caf::event_based_actor* supervisor, const caf::actor&,
                                 const NodeOrder& order) {
      names_.push_back(order.name);
      supervisor_ = caf::actor_cast<caf::actor>(supervisor);
      jobs_.push_back(supervisor->spawn(
        [](caf::event_based_actor* self, int) -> caf::behavior {
          return {[](KillNode) {}, [self](const caf::error& why) { self->quit(why); }};
        },
        0));
      return jobs_.back();
    };
  }
  ~PoolTest() override {
    caf::anon_send_exit(pool_, caf::exit_reason::kill);
    for (auto& [id, link] : links_)
      caf::anon_send_exit(link, caf::exit_reason::kill);
    links_.clear();
    for (auto& job : jobs_)
      caf::anon_send_exit(job, caf::exit_reason::kill);
    jobs_.clear();
    pool_ = supervisor_ = nullptr;
    settings.start_node = nullptr;
    do {
      run();
    } while (scheduler().trigger_timeouts() > 0 || scheduler().has_job());
  }

  caf::scheduler::test_coordinator& scheduler() {
    return static_cast<caf::scheduler::test_coordinator&>(system_->scheduler());
  }
  void run() { scheduler().run(); }

  template <class Message>
  void tell(Message message) {
    caf::anon_send(pool_, std::move(message));
    run();
  }

  void submit(std::size_t tasks, std::size_t chunksize = 1) {
    pool_ = spawn_pool(*system_, settings);
    auto call = std::make_shared<Call>();
    call->id = 1;
    call->callable = AnyCallable::of<int, false>(&same);
    call->chunksize = chunksize;
    call->sink = results;
    auto batch = std::make_shared<Batch>();
    batch->call = call;
    batch->arguments = Payload(Bytes(4 * tasks));
    for (std::size_t i = 1; i <= tasks; ++i)
      batch->ends.push_back(4 * i);
    tell(Submit{batch});
    tell(EndCall{1});
  }

  /// The newest job that the pool ordered becomes ready as this incarnation.
  Inbox& up(std::uint64_t incarnation,
            std::shared_ptr<backends::SharedPage> page = nullptr) {
    auto inbox = inboxes_[incarnation] = std::make_shared<Inbox>();
    links_[incarnation] = system_->spawn(
      [](caf::event_based_actor*, const std::shared_ptr<Inbox>& box) -> caf::behavior {
        return {[box](const NodeFrame& frame) { receive(*box, frame); },
                [box](KillNode) { box->killed = true; }};
      },
      inbox);
    tell(NodeUp{incarnation, names_.back(), "job", settings.workers_per_job,
                links_[incarnation], std::move(page)});
    return *inbox;
  }

  static void receive(Inbox& box, const NodeFrame& frame) {
    Bytes bytes = frame.head;
    bytes.insert(bytes.end(), frame.body.bytes().begin(), frame.body.bytes().end());
    Payload whole(std::move(bytes));
    Reader reader(whole.bytes());
    while (!reader.empty())
      switch (read_op(reader)) {
      case Op::open:
        read_open(reader, whole);
        ++box.opened;
        break;
      case Op::run:
        box.runs.push_back(read_run(reader, whole));
        break;
      case Op::recall:
        box.recalls.push_back(read_recall(reader));
        break;
      case Op::retire:
        box.retired = true;
        break;
      default:
        reader.get<std::uint64_t>(); // close
      }
  }

  void answer(std::uint64_t incarnation, std::uint64_t seq, std::size_t n = 1) {
    NodeResults news{incarnation, {}};
    news.results.first_seq = seq;
    news.results.busy_ns = n * 100'000'000;
    for (std::size_t i = 0; i < n; ++i)
      news.results.results.push_back({TaskResult::Status::value, 4, 4 * i});
    news.results.bytes = Payload(Bytes(4 * n));
    tell(std::move(news));
  }

  /// The answer of the pool, which the job's actor then ends with.
  ExitKind lose(std::uint64_t incarnation, int code = -9) {
    return lose(NodeLost{incarnation, names_.back(), code, false, "lost"});
  }
  /// A job that never was ready.
  ExitKind lose(LossCause cause, int status = 0) {
    return lose(NodeLost{99, names_.back(), {}, false, "why", cause, status});
  }
  ExitKind lose(const NodeLost& lost) {
    auto kind = std::make_shared<int>(-1);
    system_
      ->spawn( // With arguments: CAF 0.17 binds a null reference for functions without.
        [](caf::event_based_actor* self, const caf::actor& pool, const NodeLost& lost,
           const std::shared_ptr<int>& result) {
          self->request(pool, caf::infinite, lost).then([result](std::uint8_t answer) {
            *result = answer;
          });
        },
        pool_, lost, kind);
    run();
    EXPECT_NE(*kind, -1);
    return static_cast<ExitKind>(*kind);
  }

  /// The job behind a lost node ends, and its supervisor orders another.
  void end_job(ExitKind kind) {
    caf::anon_send(jobs_.back(), make_exit(kind, "lost"));
    run();
  }

  void kill_supervisor() {
    caf::anon_send_exit(std::exchange(supervisor_, nullptr), caf::exit_reason::kill);
    run();
  }

  PoolStats stats() {
    auto reply = std::make_shared<StatsReply>();
    tell(AskStats{reply});
    return reply->value();
  }

  bool has_value(std::size_t index) {
    auto& all = results->outcomes[index];
    return all.size() == 1 && !all[0].error;
  }

  std::exception_ptr failure(std::size_t index) {
    auto& all = results->outcomes[index];
    return all.size() == 1 && all[0].error
             ? all[0].error
             : std::make_exception_ptr(std::logic_error("it has not failed"));
  }

  PoolSettings settings;
  std::shared_ptr<Results> results = std::make_shared<Results>();

private:
  caf::actor_system_config config_;
  std::unique_ptr<caf::actor_system> system_;
  caf::actor pool_, supervisor_;
  std::vector<std::string> names_;
  std::vector<caf::actor> jobs_;
  std::map<std::uint64_t, caf::actor> links_;
  std::map<std::uint64_t, std::shared_ptr<Inbox>> inboxes_;
};

TEST_F(PoolTest, sends_a_callable_once_and_tasks_as_they_are_answered) {
  submit(3);
  auto& node = up(1);
  ASSERT_EQ(node.runs.size(), 1u);
  for (std::uint64_t seq = 1; seq <= 3; ++seq)
    answer(1, seq);
  EXPECT_EQ(node.opened, 1u);
  EXPECT_TRUE(has_value(0) && has_value(1) && has_value(2));
}

TEST_F(PoolTest, refuses_a_result_that_comes_twice_and_one_of_a_lost_node) {
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

TEST_F(PoolTest, charges_the_first_unanswered_task_and_runs_it_alone) {
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

TEST_F(PoolTest, charges_the_task_that_was_announced) {
  submit(4, 4);
  auto page = backends::SharedPage::create(4096);
  up(1, page);
  SlotProgress::announce(page->data(), 0, 3);
  end_job(lose(1));
  auto& next = up(2);
  ASSERT_FALSE(next.runs.empty());
  EXPECT_EQ(next.runs[0].first_index, 2u);
}

TEST_F(PoolTest, charges_nobody_for_a_worker_that_was_idle) {
  submit(1);
  up(1);
  answer(1, 1);
  EXPECT_EQ(lose(1), ExitKind::lost);
}

TEST_F(PoolTest, gives_a_task_up_after_its_retries_with_all_exits) {
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
    EXPECT_EQ(lost.exits(), (std::vector<int>{-11, 3}));
  }
}

TEST_F(PoolTest, charges_nobody_when_a_node_drains) {
  submit(3, 3);
  up(1);
  tell(NodeDraining{1});
  tell(NodeHandedBack{1, {0, 2, 4}});
  EXPECT_EQ(stats().queued, 2u);
  answer(1, 1);
  EXPECT_EQ(lose(1, 0), ExitKind::planned);
  EXPECT_EQ(stats().workers_lost, 0u);
}

TEST_F(PoolTest, does_not_take_for_handed_back_what_it_sent_later) {
  submit(3, 3);
  up(1);
  tell(NodeHandedBack{1, {0, 2, 3}}); // Knows of two tasks only.
  EXPECT_EQ(stats().running, 2u);
  answer(1, 1);
  answer(1, 3);
  EXPECT_TRUE(has_value(2));
}

TEST_F(PoolTest, gives_up_at_once_when_a_job_runs_another_build) {
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

TEST_F(PoolTest, says_that_no_worker_was_ready_in_time) {
  submit(1);
  EXPECT_EQ(lose(LossCause::late), ExitKind::lost);
  kill_supervisor();
  EXPECT_THROW(std::rethrow_exception(failure(0)), TimeoutError);
}

TEST_F(PoolTest, hands_on_the_status_of_an_engine_that_refuses) {
  submit(1);
  EXPECT_EQ(lose(LossCause::late), ExitKind::lost);
  EXPECT_EQ(lose(LossCause::refused, 403), ExitKind::lost);
  kill_supervisor();
  try {
    std::rethrow_exception(failure(0));
  } catch (const BackendError& error) {
    EXPECT_EQ(error.status(), 403);
  }
}

TEST_F(PoolTest, ends_what_nodes_had_when_its_supervisor_is_gone) {
  submit(2);
  up(1); // It never says that it is lost.
  kill_supervisor();
  ASSERT_EQ(results->outcomes[0].size(), 1u);
  ASSERT_EQ(results->outcomes[1].size(), 1u);
  EXPECT_THROW(std::rethrow_exception(results->outcomes[0][0].error), BackendError);
}

} // namespace
