// SPDX-License-Identifier: Apache-2.0
#include "tests/e2e/support/pool_world.hpp"

#include <future>

#include <fiber/future.hpp>

#include "actors/driver/arrivals.hpp"
#include "actors/driver/backend_actor.hpp"
#include "backends/local/local_backend.hpp"
#include "base/code_place.hpp"
#include "tests/e2e/support/notes.hpp"
#include "tests/e2e/support/processes.hpp"

namespace fiber::e2e {
namespace {

void await_down(const caf::actor& actor) {
  std::promise<void> down;
  actor->attach_functor([&](const caf::error&) { down.set_value(); });
  down.get_future().wait();
}

} // namespace

Withholding::Withholding()
  : local_(backends::make_local(
      {.plain_spawn = false, .forward_output = false, .argv = {}, .executable = {}})) {}

void Ledger::deliver(std::vector<actors::Completion> completions) {
  std::lock_guard lock(mutex_);
  for (auto& completion : completions)
    results_.emplace(completion.index,
                     detail::open_outcome<std::size_t>(completion.outcome));
}

std::multimap<std::size_t, std::size_t> Ledger::results() {
  std::lock_guard lock(mutex_);
  return results_;
}

std::multimap<std::size_t, std::size_t> each_once(std::size_t tasks) {
  std::multimap<std::size_t, std::size_t> results;
  for (auto i : indices(tasks))
    results.emplace(i, f(i));
  return results;
}

PoolWorld::PoolWorld(std::chrono::milliseconds heartbeat_timeout,
                     const std::string& address)
  : backend_actor_(actors::spawn_job_backend(system_, backend, 8)) {
  auto services = std::make_shared<actors::NodeServices>();
  services->backend = backend_actor_;
  services->reactor = &reactor_;
  services->heartbeat_timeout = heartbeat_timeout;
  services->log_level = "error";
  services->objects = std::make_shared<actors::ObjectSpace>(&system_, 0, nullptr);
  services->build = fiber::build_id();
  services->next_incarnation = [last = std::uint64_t{0}]() mutable { return ++last; };
  if (!address.empty())
    listen(*services, address);
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

PoolWorld::~PoolWorld() {
  backend->release();
  caf::anon_send(pool_, actors::TerminatePool{});
  await_down(pool_);
  caf::anon_send_exit(backend_actor_, caf::exit_reason::user_shutdown);
  await_down(backend_actor_);
}

void PoolWorld::listen(actors::NodeServices& services, const std::string& address) {
  const std::string session = "pool world";
  listener_ = std::make_unique<wire::Listener>(
    reactor_, ca_.issue(0), wire::Hello{session, services.build, 0},
    wire::ListenerOptions{.host = address,
                          .link = {.heartbeat_interval = services.heartbeat_timeout / 4,
                                   .silence_limit = services.heartbeat_timeout}},
    [this, arrivals = services.arrivals](const wire::Hello& hello,
                                         std::shared_ptr<wire::Link> link) {
      arrivals->arrived(system_, hello.incarnation, std::move(link));
    });
  services.address = [this, session, address](actors::NodeBoot& boot) {
    boot.host = address;
    boot.port = listener_->port();
    boot.session = session;
    return ca_.issue(boot.incarnation).pack();
  };
}

std::shared_ptr<Ledger> PoolWorld::submit(std::size_t (*task)(std::size_t),
                                          std::size_t tasks) {
  auto ledger = std::make_shared<Ledger>();
  auto call = std::make_shared<actors::Call>();
  call->id = ++calls_;
  call->callable = AnyCallable::of<std::size_t, false>(task);
  call->sink = ledger;
  auto batch = std::make_shared<actors::TaskBatch>();
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

PoolStats PoolWorld::stats() {
  auto reply = std::make_shared<actors::StatsReply>();
  caf::anon_send(pool_, actors::AskStats{reply});
  reply->wait_until(std::chrono::steady_clock::now() + deadline);
  return reply->value();
}

} // namespace fiber::e2e
