// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <caf/all.hpp>
#include <caf/scheduler/test_coordinator.hpp>
#include <gtest/gtest.h>

#include "actors/core/exit.hpp"
#include "actors/driver/backend_actor.hpp"
#include "actors/process/process_actor.hpp"
#include "base/log.hpp"
#include "fiber/detail/caf/scheduler.hpp"

namespace fiber::actors {

inline int as_it_is(int x) {
  return x;
}

/// The messages that a process has sent to its node.
struct Told {
  std::vector<EndNode> ends;
  std::vector<std::string> opened; ///< States.
  std::vector<RunTasks> runs;
  std::vector<std::uint64_t> stopped;
  int retired = 0;
};

class Sink final : public ResultSink {
public:
  void deliver(std::vector<Completion> completions) override {
    for (auto& completion : completions)
      outcomes.push_back(completion.outcome);
  }
  std::vector<detail::RawOutcome> outcomes;
};

/// A process on CAF's test scheduler; the test plays its node and backend.
class ProcessTest : public testing::Test {
protected:
  ProcessTest() {
    log().set_level(spdlog::level::off);
    detail::set_scheduler(config_, "testing");
    system_ = std::make_unique<caf::actor_system>(config_);
    settings.name = "my trainer";
    settings.news = news;
    settings.ended = [this] { ++ended; };
    settings.backend = system_->spawn(
      [](caf::event_based_actor*,
         const std::shared_ptr<std::string>& text) -> caf::behavior {
        return {[text](const AskOutput& ask) {
          EXPECT_EQ(ask.job, "engine-7");
          return JobOutput{*text};
        }};
      },
      written);
    settings.start_node = [this](caf::event_based_actor* parent, const caf::actor&,
                                 const NodeOrder& order) {
      ordered = order;
      node = parent->spawn(
        [](caf::event_based_actor* self,
           const std::shared_ptr<Told>& to) -> caf::behavior {
          return {[to](EndNode end) { to->ends.push_back(end); },
                  [to](const NodeFrame& frame) { receive(*to, frame); },
                  [self](const caf::error& why) { self->quit(why); }};
        },
        told);
      return node;
    };
  }
  ~ProcessTest() override {
    caf::anon_send_exit(process_, caf::exit_reason::kill);
    caf::anon_send_exit(node, caf::exit_reason::kill);
    caf::anon_send_exit(settings.backend, caf::exit_reason::kill);
    process_ = node = settings.backend = nullptr;
    settings.start_node = nullptr;
    do {
      run();
    } while (scheduler().trigger_timeouts() > 0 || scheduler().has_job());
  }

  caf::scheduler::test_coordinator& scheduler() {
    return static_cast<caf::scheduler::test_coordinator&>(system_->scheduler());
  }
  void run() { scheduler().run(); }
  void pass(std::chrono::milliseconds time) {
    scheduler().advance_time(time);
    run();
  }

  static void receive(Told& to, const NodeFrame& frame) {
    Bytes bytes = frame.head;
    bytes.insert(bytes.end(), frame.body.bytes().begin(), frame.body.bytes().end());
    Payload whole(std::move(bytes));
    Reader reader(whole.bytes());
    while (!reader.empty())
      switch (read_op(reader)) {
      case Op::open: {
        auto state = read_open(reader, whole).state;
        to.opened.emplace_back(reinterpret_cast<const char*>(state.bytes().data()),
                               state.size());
        break;
      }
      case Op::run:
        to.runs.push_back(read_run(reader, whole));
        break;
      case Op::stop_task:
        to.stopped.push_back(read_stop_task(reader).seq);
        break;
      case Op::retire:
        ++to.retired;
        break;
      default:
        FAIL() << "a node of a process is told nothing else";
      }
  }

  void start(std::size_t argument_bytes = 4) {
    auto call = std::make_shared<Call>();
    call->callable = AnyCallable::of<int, false>(&as_it_is);
    call->single = true;
    call->sink = sink;
    auto task = std::make_shared<TaskBatch>();
    task->call = std::move(call);
    task->ends = {argument_bytes};
    task->arguments = Payload(Bytes(argument_bytes));
    settings.task = std::move(task);
    process_ = spawn_process(*system_, settings);
    run();
  }
  template <class Message>
  void tell(Message message) {
    caf::anon_send(process_, std::move(message));
    run();
  }
  void created() { tell(NodeCreated{1, "engine-7"}); }
  void ready() { tell(NodeUp{1, ordered.name, "my-trainer-1", 1, node, nullptr, 77}); }
  void up() {
    created();
    ready();
  }
  void answers(int value) {
    NodeResults news{1, {}};
    news.results.first_seq = 1;
    news.results.results.push_back({TaskResult::Status::value, sizeof value, 0});
    Bytes bytes;
    Writer writer(bytes);
    writer.put(value);
    news.results.bytes = Payload(std::move(bytes));
    tell(std::move(news));
  }
  void throws() {
    NodeResults news{1, {}};
    news.results.first_seq = 1;
    Bytes failure;
    Writer writer(failure);
    write(writer, Failure{"Mine", "on purpose", "", {}});
    news.results.results.push_back({TaskResult::Status::failure, failure.size(), 0});
    news.results.bytes = Payload(std::move(failure));
    tell(std::move(news));
  }
  static NodeLost exits(std::optional<int> code) {
    return {.incarnation = 1,
            .name = "my-trainer",
            .exit_code = code,
            .confirmed = true,
            .reason = "it ended"};
  }
  void lose(const NodeLost& lost) {
    auto answer = std::make_shared<int>(-1);
    system_->spawn(
      [](caf::event_based_actor* self, const caf::actor& process, const NodeLost& what,
         const std::shared_ptr<int>& to) {
        self->request(process, caf::infinite, what).then([to](std::uint8_t kind) {
          *to = kind;
        });
      },
      process_, lost, answer);
    run();
    EXPECT_EQ(*answer, static_cast<int>(ExitKind::planned));
  }
  /// Returns how the process ended. Requires that it has reported its end once.
  const ProcessEnd& end() {
    static const ProcessEnd none;
    EXPECT_EQ(ended, 1);
    if (!news->end.is_set()) {
      ADD_FAILURE() << "nobody was told of its end";
      return none;
    }
    end_ = news->end.value();
    return *end_;
  }
  template <class E>
  void expect_result_throws() {
    ASSERT_EQ(sink->outcomes.size(), 1u);
    EXPECT_THROW(std::rethrow_exception(sink->outcomes[0].error), E);
  }

  ProcessSettings settings;
  std::shared_ptr<ProcessNews> news = std::make_shared<ProcessNews>();
  std::shared_ptr<Told> told = std::make_shared<Told>();
  std::shared_ptr<Sink> sink;
  std::shared_ptr<std::string> written = std::make_shared<std::string>();
  NodeOrder ordered;
  caf::actor node;
  int ended = 0;

  void kill_actor() {
    caf::anon_send_exit(process_, caf::exit_reason::kill);
    run();
  }
  void session_ends() {
    caf::anon_send_exit(process_, caf::exit_reason::user_shutdown);
    run();
  }

private:
  caf::actor_system_config config_;
  std::unique_ptr<caf::actor_system> system_;
  std::shared_ptr<const ProcessEnd> end_;
  caf::actor process_;
};

/// A process with a result that a caller waits for.
class FutureProcessTest : public ProcessTest {
protected:
  FutureProcessTest() { sink = std::make_shared<Sink>(); }
};

} // namespace fiber::actors
