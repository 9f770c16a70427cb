// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
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
#include "actors/driver/node_link_actor.hpp"
#include "actors/protocol/link_to_actor.hpp"
#include "base/log.hpp"
#include "fiber/detail/caf/scheduler.hpp"
#include "tests/actors/fake_link.hpp"

namespace fiber::actors {

/// The messages that the node link has sent to its backend and pool.
struct Heard {
  std::optional<caf::response_promise> creating;
  bool all_output = false;
  std::string image;
  std::vector<std::string> cancelled, created;
  std::vector<EndJob> ended;
  std::vector<WatchJob> watched;
  std::vector<NodeUp> up;
  std::vector<NodeLost> lost;
};

/// A node link on CAF's test scheduler; the test plays its backend, job and pool.
class NodeLinkTest : public testing::Test {
protected:
  NodeLinkTest() {
    log().set_level(spdlog::level::off);
    detail::set_scheduler(config_, "testing");
    system_ = std::make_unique<caf::actor_system>(config_);
    services->build = "build";
    services->next_incarnation = [] { return 1; };
    services->objects = std::make_shared<ObjectSpace>(system_.get(), 0, nullptr);
    services->backend = backend_ = system_->spawn(engine, heard);
    pool_ = system_->spawn(pool, heard);
  }
  ~NodeLinkTest() override {
    if (link->handler)
      link->handler->on_closed({"the test is over"});
    link->handler = nullptr;
    heard->watched.clear();
    heard->up.clear();
    heard->creating.reset();
    services->backend = nullptr;
    for (auto& actor : {supervisor_, backend_, pool_, node_})
      caf::anon_send_exit(actor, caf::exit_reason::kill);
    supervisor_ = backend_ = pool_ = node_ = nullptr;
    do {
      run();
    } while (scheduler().trigger_timeouts() > 0 || scheduler().has_job());
  }

  static caf::behavior engine(caf::event_based_actor* self,
                              const std::shared_ptr<Heard>& to) {
    return {[self, to](const CreateJob& order) {
              to->all_output = order.all_output;
              to->image = order.spec->image;
              to->creating = self->make_response_promise();
              return *to->creating;
            },
            [to](const JobCreated& created) { to->creating->deliver(created); },
            [](const StartFinished&) {},
            [to](const CancelJob& cancel) { to->cancelled.push_back(cancel.name); },
            [to](const EndJob& end) { to->ended.push_back(end); },
            [to](const WatchJob& watch) { to->watched.push_back(watch); }};
  }
  static caf::behavior pool(caf::event_based_actor*, const std::shared_ptr<Heard>& to) {
    return {[to](const NodeUp& up) { to->up.push_back(up); }, [](const NodeDraining&) {},
            [](const NodeShare&) {},
            [to](const NodeCreated& created) { to->created.push_back(created.job); },
            [to](const NodeLost& lost) {
              to->lost.push_back(lost);
              return static_cast<std::uint8_t>(ExitKind::lost);
            }};
  }

  caf::scheduler::test_coordinator& scheduler() {
    return static_cast<caf::scheduler::test_coordinator&>(system_->scheduler());
  }
  void run() { scheduler().run(); }
  caf::actor_system& system() { return *system_; }
  /// Lets time pass while this process runs.
  void pass(std::chrono::seconds time) {
    for (auto end = scheduler().clock().now() + time; scheduler().clock().now() < end;) {
      scheduler().advance_time(std::chrono::milliseconds(100));
      run();
    }
  }
  /// Lets time pass while this process is suspended.
  void stand_still(std::chrono::seconds time) {
    scheduler().clock().current_time += time;
    scheduler().advance_time(std::chrono::milliseconds(1));
    run();
  }

  void order() {
    supervisor_ = system_->spawn(
      [](caf::event_based_actor* self, const std::shared_ptr<const NodeServices>& with,
         const caf::actor& of, const std::shared_ptr<const NodeTemplate>& like,
         caf::actor* node) -> caf::behavior {
        *node = spawn_node_link(self, with, like, of,
                                {.name = "w0", .first_rank = 0, .slots = 2});
        return {[](int) {}};
      },
      std::shared_ptr<const NodeServices>(services), pool_,
      std::shared_ptr<const NodeTemplate>(job), &node_);
    run();
  }
  void create() {
    auto job = std::make_shared<backends::Job>();
    job->id = "7";
    job->page = page;
    caf::anon_send(backend_, JobCreated{std::move(job), {}});
    run();
    services->arrivals->arrived(*system_, 1, link);
    run();
  }
  void ready(std::uint32_t slots = 2) {
    link->say(Ready{1, slots, 77, "build"});
    run();
  }
  void start() {
    order();
    create();
    ready();
  }
  void job_ends(int code, const std::string& detail = "it ended") {
    caf::anon_send(node_, ended(code, detail));
    run();
  }
  static backends::JobEvent ended(int code, const std::string& detail = "it ended") {
    return {.kind = backends::JobEvent::Kind::ended,
            .job = "7",
            .pid = 0,
            .exit_code = code,
            .detail = detail};
  }
  void job_reports(const backends::JobEvent& event) {
    caf::anon_send(node_, event);
    run();
  }
  void job_wrote(const std::string& text) {
    caf::anon_send(node_, JobOutput{text});
    run();
  }
  void kill_node() {
    caf::anon_send(node_, KillNode{});
    run();
  }
  void end_node(std::chrono::milliseconds grace) {
    caf::anon_send(node_, EndNode{grace});
    run();
  }
  void link_closes() {
    link->handler->on_closed({"closed"});
    run();
  }
  void supervisor_ends() {
    caf::anon_send_exit(node_, caf::exit_reason::user_shutdown);
    run();
  }
  void link_is_silent() {
    link->handler->on_silence();
    run();
  }

  std::shared_ptr<NodeServices> services = std::make_shared<NodeServices>();
  std::shared_ptr<NodeTemplate> job = std::make_shared<NodeTemplate>();
  std::shared_ptr<Heard> heard = std::make_shared<Heard>();
  std::shared_ptr<backends::SharedPage> page; ///< That of the next job.
  std::shared_ptr<FakeLink> link = std::make_shared<FakeLink>();

private:
  caf::actor_system_config config_;
  std::unique_ptr<caf::actor_system> system_;
  caf::actor backend_, pool_, supervisor_, node_;
};

} // namespace fiber::actors
