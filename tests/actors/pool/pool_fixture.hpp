// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <caf/all.hpp>
#include <caf/scheduler/test_coordinator.hpp>
#include <gtest/gtest.h>

#include "actors/core/exit.hpp"
#include "actors/pool/pool_actor.hpp"
#include "actors/pool/running_table.hpp"
#include "base/log.hpp"
#include "fiber/detail/caf/scheduler.hpp"

namespace fiber::actors {

inline int same(int x) {
  return x;
}

/// The messages that one node was sent.
struct Inbox {
  std::vector<RunTasks> runs;
  std::vector<Recall> recalls;
  std::vector<std::uint64_t> stopped; ///< Calls.
  std::vector<std::uint64_t> stopped_tasks;
  std::size_t opened = 0;
  std::vector<Op> operations; ///< All of them, in order.
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

/// A pool on CAF's test scheduler; the test plays its nodes.
class PoolTest : public testing::Test {
protected:
  PoolTest() {
    log().set_level(spdlog::level::off);
    detail::set_scheduler(config_, "testing");
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
    pool_ = nullptr;
    settings.start_node = nullptr;
    do { // A timer may keep the pool, for which the supervisor starts another job.
      for (auto& job : std::exchange(jobs_, {}))
        caf::anon_send_exit(job, caf::exit_reason::kill);
      supervisor_ = nullptr;
      run();
    } while (scheduler().trigger_timeouts() > 0 || scheduler().has_job() ||
             !jobs_.empty());
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

  void start_pool() { pool_ = spawn_pool(*system_, settings); }

  /// Submits the tasks to a new pool, and ends the call unless more are to come.
  void submit(std::size_t tasks, std::size_t chunksize = 1, std::size_t to_come = 0) {
    start_pool();
    submit_call(1, AnyCallable::of<int, false>(&same), tasks, chunksize, to_come);
  }
  /// The same to the pool that is there.
  void submit_call(std::uint64_t id, AnyCallable callable, std::size_t tasks,
                   std::size_t chunksize = 1, std::size_t to_come = 0) {
    auto call = std::make_shared<Call>();
    call->id = id;
    call->callable = std::move(callable);
    call->chunksize = chunksize;
    call->speculate = speculate;
    call->sink = results;
    auto batch = std::make_shared<TaskBatch>();
    batch->call = call;
    batch->arguments = Payload(Bytes(4 * tasks));
    batch->to_come = to_come;
    for (std::size_t i = 1; i <= tasks; ++i)
      batch->ends.push_back(4 * i);
    tell(Submit{batch});
    if (to_come == 0)
      tell(EndCall{id});
  }

  /// The newest job that the pool ordered, or job number `job`, becomes ready as this
  /// incarnation.
  Inbox& up(std::uint64_t incarnation,
            std::shared_ptr<backends::SharedPage> page = nullptr,
            std::optional<std::size_t> job = {}) {
    auto inbox = inboxes_[incarnation] = std::make_shared<Inbox>();
    links_[incarnation] = system_->spawn(
      [](caf::event_based_actor*, const std::shared_ptr<Inbox>& box) -> caf::behavior {
        return {[box](const NodeFrame& frame) { receive(*box, frame); },
                [box](KillNode) { box->killed = true; }};
      },
      inbox);
    tell(NodeUp{incarnation, job ? names_.at(*job) : names_.back(), "job",
                settings.workers_per_job, links_[incarnation], std::move(page)});
    return *inbox;
  }

  static void receive(Inbox& box, const NodeFrame& frame) {
    Bytes bytes = frame.head;
    bytes.insert(bytes.end(), frame.body.bytes().begin(), frame.body.bytes().end());
    Payload whole(std::move(bytes));
    Reader reader(whole.bytes());
    while (!reader.empty())
      switch (box.operations.emplace_back(read_op(reader))) {
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
      case Op::stop_task:
        box.stopped_tasks.push_back(read_stop_task(reader).seq);
        break;
      case Op::stop:
        box.stopped.push_back(reader.get<std::uint64_t>());
        break;
      default:
        reader.get<std::uint64_t>(); // close
      }
  }

  void answer(std::uint64_t incarnation, std::uint64_t seq, std::size_t n = 1,
              std::uint32_t slot = 0,
              std::chrono::nanoseconds busy = std::chrono::milliseconds(100)) {
    NodeResults news{incarnation, {}};
    news.results.slot = slot;
    news.results.first_seq = seq;
    news.results.busy_ns = n * static_cast<std::uint64_t>(busy.count());
    for (std::size_t i = 0; i < n; ++i)
      news.results.results.push_back({TaskResult::Status::value, 4, 4 * i});
    news.results.bytes = Payload(Bytes(4 * n));
    tell(std::move(news));
  }

  void throws(std::uint64_t incarnation, std::uint64_t seq) {
    NodeResults news{incarnation, {}};
    news.results.first_seq = seq;
    Bytes failure;
    Writer writer(failure);
    write(writer, Failure{"Mine", "on purpose", "", {}});
    news.results.results.push_back({TaskResult::Status::failure, failure.size(), 0});
    news.results.bytes = Payload(std::move(failure));
    tell(std::move(news));
  }

  /// Reports a lost node; returns the pool's answer, with which the job's actor ends.
  ExitKind lose(std::uint64_t incarnation, int code = -9, bool confirmed = true) {
    return lose(NodeLost{.incarnation = incarnation,
                         .name = names_.back(),
                         .exit_code = code,
                         .confirmed = confirmed,
                         .reason = "lost"});
  }
  /// Reports a job that never was ready.
  ExitKind lose(LossCause cause, int status = 0) {
    return lose(NodeLost{.incarnation = 99,
                         .name = names_.back(),
                         .exit_code = {},
                         .reason = "why",
                         .cause = cause,
                         .status = status});
  }
  ExitKind lose(const NodeLost& lost) {
    auto kind = std::make_shared<int>(-1);
    system_
      ->spawn( // With arguments: CAF 0.17 binds a null reference for functions without.
        [](caf::event_based_actor* self, const caf::actor& pool, const NodeLost& what,
           const std::shared_ptr<int>& result) {
          self->request(pool, caf::infinite, what).then([result](std::uint8_t answer) {
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

  void end_job(std::size_t job, ExitKind kind) {
    caf::anon_send(jobs_.at(job), make_exit(kind, "lost"));
    run();
  }
  std::size_t jobs() const { return jobs_.size(); }
  /// Returns the name of the job that was ordered last.
  const std::string& last_name() const { return names_.back(); }

  void pass(std::chrono::milliseconds time) {
    scheduler().advance_time(time);
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
  double speculate = 0;
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

} // namespace fiber::actors
