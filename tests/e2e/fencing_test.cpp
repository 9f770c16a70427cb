// SPDX-License-Identifier: Apache-2.0
// A worker that was declared dead and is not: nobody can end it, it comes back and
// answers. Made of the library's own actors and links, around a backend whose terminate
// does nothing until told.
#include <csignal>
#include <future>
#include <map>
#include <mutex>

#include <caf/all.hpp>

#include <fiber/this_task.hpp>
#include <fiber/value.hpp>

#include "actors/backend_actor.hpp"
#include "actors/code_place.hpp"
#include "actors/node_link_actor.hpp"
#include "actors/pool_actor.hpp"
#include "backends/local/local_backend.hpp"
#include "tests/e2e/fixture.hpp"
#include "wire/reactor.hpp"

namespace fiber::e2e {
namespace {

using namespace std::chrono_literals;

/// The local backend, but for terminate().
class Withholding final : public backends::Backend {
public:
  std::string name() const override { return "withholding"; }
  void watch(Watcher watcher) override { local_->watch(std::move(watcher)); }
  backends::Job create(backends::JobSpec spec) override {
    return local_->create(std::move(spec));
  }
  std::string logs(const backends::JobId& job) override { return local_->logs(job); }
  void forget(const backends::JobId& job) override { local_->forget(job); }
  std::vector<backends::JobId> list() override { return local_->list(); }

  void terminate(const backends::JobId& job, std::chrono::milliseconds grace) override {
    std::lock_guard lock(mutex_);
    if (released_)
      local_->terminate(job, grace);
    else
      withheld_.push_back(job);
  }
  /// Ends at once whom it should have ended, and withholds nothing from now on.
  void release() {
    std::lock_guard lock(mutex_);
    released_ = true;
    for (auto& job : withheld_)
      local_->terminate(job, 0ms);
  }
  std::size_t withheld() {
    std::lock_guard lock(mutex_);
    return withheld_.size();
  }

private:
  std::unique_ptr<backends::Backend> local_ = backends::make_local(
    {.plain_spawn = false, .forward_output = false, .argv = {}, .executable = {}});
  std::mutex mutex_;
  std::vector<backends::JobId> withheld_;
  bool released_ = false;
};

/// Every result of a call, and how often it came.
class Ledger final : public actors::ResultSink {
public:
  void deliver(std::vector<actors::Completion> completions) override {
    std::lock_guard lock(mutex_);
    for (auto& completion : completions)
      results_.emplace(completion.index,
                       detail::open_outcome<std::size_t>(completion.outcome));
  }
  std::multimap<std::size_t, std::size_t> results() {
    std::lock_guard lock(mutex_);
    return results_;
  }

private:
  std::mutex mutex_;
  std::multimap<std::size_t, std::size_t> results_;
};

std::multimap<std::size_t, std::size_t> each_once(std::size_t tasks) {
  std::multimap<std::size_t, std::size_t> results;
  for (auto i : indices(tasks))
    results.emplace(i, f(i));
  return results;
}

/// What a Session is made of.
class World {
public:
  World() {
    auto services = std::make_shared<actors::NodeServices>();
    services->backend = backend_actor_;
    services->reactor = &reactor_;
    services->heartbeat_timeout = 1s;
    services->log_level = "error";
    services->objects = std::make_shared<actors::ObjectSpace>(system_, 0, nullptr);
    services->build = actors::build_id();
    services->next_incarnation = [last = std::uint64_t{0}]() mutable { return ++last; };
    auto job = std::make_shared<actors::NodeTemplate>();
    pool_ = actors::spawn_pool(
      system_, {.name = "pool",
                .workers = 2,
                .start_node = [services, job](caf::event_based_actor* supervisor,
                                              const caf::actor& pool,
                                              const actors::NodeOrder& order) {
                  return actors::spawn_node_link(supervisor, services, job, pool, order);
                }});
  }
  ~World() {
    backend->release();
    caf::anon_send(pool_, actors::TerminatePool{});
    await_down(pool_);
    caf::anon_send_exit(backend_actor_, caf::exit_reason::user_shutdown);
    await_down(backend_actor_);
  }
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  std::shared_ptr<Ledger> submit(std::size_t (*task)(std::size_t), std::size_t tasks) {
    auto ledger = std::make_shared<Ledger>();
    auto call = std::make_shared<actors::Call>();
    call->id = ++calls_;
    call->callable = AnyCallable::of<std::size_t, false>(task);
    call->sink = ledger;
    auto batch = std::make_shared<actors::Batch>();
    batch->call = call;
    Bytes arguments;
    Writer writer(arguments);
    for (auto i : indices(tasks)) {
      pack(writer, i);
      batch->ends.push_back(arguments.size());
    }
    batch->arguments = Payload(std::move(arguments));
    caf::anon_send(pool_, actors::Submit{batch});
    caf::anon_send(pool_, actors::EndCall{call->id});
    return ledger;
  }

  PoolStats stats() {
    auto reply = std::make_shared<actors::StatsReply>();
    caf::anon_send(pool_, actors::AskStats{reply});
    reply->wait_until(std::chrono::steady_clock::now() + deadline);
    return reply->value();
  }

  const std::shared_ptr<Withholding> backend = std::make_shared<Withholding>();

private:
  struct Settings : caf::actor_system_config {
    Settings() {
      set("scheduler.policy", caf::atom("sharing"));
      set("scheduler.max-threads", 1U);
    }
  };
  static void await_down(const caf::actor& actor) {
    std::promise<void> down;
    actor->attach_functor([&](const caf::error&) { down.set_value(); });
    down.get_future().wait();
  }

  Settings settings_;
  caf::actor_system system_{settings_};
  wire::Reactor reactor_;
  caf::actor backend_actor_ = actors::spawn_job_backend(system_, backend, 8);
  caf::actor pool_;
  std::uint64_t calls_ = 0;
};

std::size_t wait_5(std::size_t i) {
  note("runs", std::to_string(i));
  if (i == 5 && this_task::attempt() == 1)
    note_and_wait("victims");
  return f(i);
}

TEST(DeclaredDead, and_back_its_results_are_refused_as_late) {
  Scratch scratch;
  World world;
  auto ledger = world.submit(wait_5, 40);
  auto victim = static_cast<pid_t>(noted("victims"));
  kill(victim, SIGSTOP);
  ASSERT_TRUE(wait_until([&] { return ledger->results().size() == 40; }));
  EXPECT_EQ(runs("runs", 40)[5], 2u);
  EXPECT_EQ(world.stats().workers_lost, 1u);
  EXPECT_EQ(world.stats().late, 0u);
  EXPECT_TRUE(wait_until([&] { return world.backend->withheld() == 1; }));
  ASSERT_TRUE(is_stopped(victim)); // Nobody has ended it.

  note("go", "");
  kill(victim, SIGCONT);
  EXPECT_TRUE(wait_until([&] { return world.stats().late >= 1; }));
  EXPECT_TRUE(lives(victim));
  EXPECT_EQ(ledger->results(), each_once(40));
  auto again = world.submit(f, 40);
  ASSERT_TRUE(wait_until([&] { return again->results().size() == 40; }));
  EXPECT_EQ(again->results(), each_once(40));

  world.backend->release();
  EXPECT_TRUE(wait_until([&] { return !lives(victim); }));
  EXPECT_EQ(world.stats().done, 80u);
  EXPECT_EQ(world.stats().failed, 0u);
}

} // namespace
} // namespace fiber::e2e
