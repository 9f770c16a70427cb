// SPDX-License-Identifier: Apache-2.0
// The promise: every owner of a job, early or late, hears why it waits, of its end and
// its output.

#include "actors/driver/backend_actor.hpp"

#include <caf/all.hpp>
#include <gtest/gtest.h>

using namespace fiber;
using namespace fiber::actors;

namespace {

/// A backend with one job, which waits and ends when told.
class OneJob final : public backends::Backend {
public:
  explicit OneJob(std::string wrote = {}) : wrote_(std::move(wrote)) {}
  std::string name() const override { return "one job"; }
  void watch(Watcher watcher) override { tell_ = std::move(watcher); }
  backends::Job create(backends::JobSpec) override { return {"7", {}, nullptr}; }
  void wait(const std::string& words,
            backends::JobEvent::Wait wait = backends::JobEvent::Wait::blocked) {
    tell_({.kind = backends::JobEvent::Kind::waits,
           .job = "7",
           .detail = words,
           .wait = wait});
  }
  void terminate(const backends::JobId&, std::chrono::milliseconds) override {
    backends::JobEvent event;
    event.kind = backends::JobEvent::Kind::ended;
    event.job = "7";
    tell_(event);
  }
  std::string logs(const backends::JobId&) override { return wrote_; }
  void forget(const backends::JobId&) override {}
  std::vector<backends::JobId> list() override { return {}; }

private:
  const std::string wrote_;
  Watcher tell_;
};

TEST(JobBackend, a_later_owner_hears_that_a_job_has_ended) {
  caf::actor_system_config config;
  caf::actor_system system(config);
  caf::scoped_actor first{system}, second{system};
  auto backend = spawn_job_backend(system, std::make_shared<OneJob>(), 1);
  auto ends = [](caf::scoped_actor& of) {
    auto heard = false;
    of->receive([&](const backends::JobEvent& event) { heard = event.job == "7"; },
                caf::after(std::chrono::minutes(1)) >> [] {});
    return heard;
  };
  first->send(backend, CreateJob{std::make_shared<backends::JobSpec>(),
                                 caf::actor_cast<caf::actor>(first)});
  first->receive([](const JobCreated& created) { EXPECT_TRUE(created.job); },
                 caf::after(std::chrono::minutes(1)) >> [] { FAIL(); });
  first->send(backend, EndJob{"7"});
  EXPECT_TRUE(ends(first));
  second->send(backend, WatchJob{"7", caf::actor_cast<caf::actor>(second)});
  EXPECT_TRUE(ends(second));
  caf::anon_send_exit(backend, caf::exit_reason::user_shutdown);
}

TEST(JobBackend, a_job_that_waits_has_neither_started_nor_ended) {
  caf::actor_system_config config;
  caf::actor_system system(config);
  caf::scoped_actor owner{system};
  auto engine = std::make_shared<OneJob>("output");
  auto backend = spawn_job_backend(system, engine, 1);
  auto next = [&] {
    backends::JobEvent event;
    owner->receive([&](const backends::JobEvent& heard) { event = heard; },
                   caf::after(std::chrono::minutes(1)) >> [] { FAIL(); });
    return event;
  };
  auto ask = [&] {
    owner->send(backend, CreateJob{std::make_shared<backends::JobSpec>(),
                                   caf::actor_cast<caf::actor>(owner)});
  };
  auto created = [&](std::chrono::milliseconds patience) {
    auto done = false;
    owner->receive([&](const JobCreated&) { done = true; },
                   caf::after(patience) >> [] {});
    return done;
  };
  ask();
  EXPECT_TRUE(created(std::chrono::minutes(1)));
  engine->wait("Resources");
  EXPECT_EQ(next().detail, "Resources");
  ask(); // The window has no room.
  engine->wait("Priority");
  EXPECT_EQ(next().detail, "Priority");
  engine->wait("it has its turn", backends::JobEvent::Wait::turn);
  EXPECT_EQ(next().detail, "it has its turn");
  EXPECT_FALSE(created(std::chrono::milliseconds(0)));
  owner->send(backend, EndJob{"7"});
  EXPECT_TRUE(next().is_last());
  EXPECT_TRUE(created(std::chrono::minutes(1)));
  caf::anon_send_exit(backend, caf::exit_reason::user_shutdown);
}

/// Else the workers of a pool that wait for GPUs keep a process from being started.
TEST(JobBackend, a_job_that_waits_for_room_keeps_no_other_from_being_created) {
  caf::actor_system_config config;
  caf::actor_system system(config);
  caf::scoped_actor owner{system};
  auto engine = std::make_shared<OneJob>("output");
  auto backend = spawn_job_backend(system, engine, 1);
  auto ask = [&] {
    auto spec = std::make_shared<backends::JobSpec>();
    spec->name = "a";
    owner->send(backend, CreateJob{spec, caf::actor_cast<caf::actor>(owner)});
  };
  auto created = [&](std::chrono::milliseconds patience) {
    auto done = false;
    owner->receive([&](const JobCreated&) { done = true; },
                   caf::after(patience) >> [] {});
    return done;
  };
  auto heard = [&] {
    owner->receive([&](const backends::JobEvent&) {},
                   caf::after(std::chrono::minutes(1)) >> [] { FAIL(); });
  };
  ask();
  EXPECT_TRUE(created(std::chrono::minutes(1)));
  ask();
  engine->wait("Resources", backends::JobEvent::Wait::room);
  heard();
  EXPECT_TRUE(created(std::chrono::minutes(1)));
  engine->wait(""); // It has room: it starts, and is in the window again.
  heard();
  ask();
  engine->wait("ErrImagePull");
  heard();
  EXPECT_FALSE(created(std::chrono::milliseconds(0)));
  caf::anon_send_exit(backend, caf::exit_reason::user_shutdown);
}

TEST(JobBackend, an_owner_that_asks_for_all_output_gets_all) {
  caf::actor_system_config config;
  caf::actor_system system(config);
  caf::scoped_actor owner{system}, asker{system};
  auto output = [](caf::scoped_actor& of) {
    std::size_t bytes = 0;
    of->receive([&](const JobOutput& heard) { bytes = heard.text.size(); },
                caf::after(std::chrono::minutes(1)) >> [] {});
    return bytes;
  };
  for (auto all : {false, true}) {
    auto backend =
      spawn_job_backend(system, std::make_shared<OneJob>(std::string(100000, 'x')), 1);
    owner->send(backend, CreateJob{std::make_shared<backends::JobSpec>(),
                                   caf::actor_cast<caf::actor>(owner), all});
    owner->receive([](const JobCreated& created) { EXPECT_TRUE(created.job); },
                   caf::after(std::chrono::minutes(1)) >> [] { FAIL(); });
    asker->send(backend, AskOutput{"7"});
    EXPECT_EQ(output(asker), 100000u);
    asker->send(backend, AskOutput{"another"});
    EXPECT_EQ(output(asker), 0u);
    owner->send(backend, EndJob{"7"});
    EXPECT_EQ(output(owner), all ? 100000u : 65536u);
    owner->receive([](const backends::JobEvent&) {},
                   caf::after(std::chrono::minutes(1)) >> [] { FAIL(); });
    caf::anon_send_exit(backend, caf::exit_reason::user_shutdown);
  }
}

} // namespace
