// SPDX-License-Identifier: Apache-2.0
#include "libfiber/process/process_core.hpp"

#include <utility>

#include "actors/manager/object_host.hpp"
#include "actors/protocol/node_protocol.hpp"
#include "libfiber/session/inline_patience.hpp"
#include "libfiber/session/process_table.hpp"
#include "libfiber/session/resource_check.hpp"

namespace fiber::detail {

using namespace std::chrono_literals;

std::shared_ptr<ProcessCore> ProcessCore::make(ProcessOptions options, PackedCall call) {
  return std::shared_ptr<ProcessCore>(
    new ProcessCore(Runtime::require(), std::move(options), std::move(call)));
}

ProcessCore::ProcessCore(std::shared_ptr<Runtime> runtime, ProcessOptions options,
                         PackedCall call)
  : runtime_(std::move(runtime)), number_(runtime_->next_process()),
    options_(std::move(options)), call_(std::move(call)) {
  if (options_.name.empty())
    options_.name = "Process-" + std::to_string(number_);
  check_resources(options_.resources, "ProcessOptions");
  if (auto& asked = call_.callable.resources()) {
    check_resources(*asked, "meta()");
    if (options_.resources == Resources{})
      options_.resources = *asked;
    check_grant(options_.resources, *asked, "the process");
  }
  actors::check_size(call_.callable.state().size());
  actors::check_size(call_.arguments.size());
  Bytes ignored;
  Writer place(ignored); // Packs on trial: a callable that cannot be packed is reported
                         // to the caller here.
  pack_code(place, code_of(call_.callable.open()), CodeKind::open);
}

std::shared_ptr<Results> ProcessCore::start_async(PackedCall call) {
  // A daemon: nobody can read its result after the session.
  auto core = make({.daemon = true}, std::move(call));
  auto weak = core->weak_from_this();
  auto run_one = core->runtime_->is_inline() ? std::function<bool()>([weak] {
    auto known = weak.lock();
    return known && known->runtime_->run_one();
  })
                                             : nullptr;
  auto cancel = [weak] {
    try {
      if (auto known = weak.lock())
        known->runtime_->tell(known->actor_, actors::CancelProcess{});
    } catch (const Closed&) { // Nothing is left to cancel.
    }
  };
  auto results = core->results_ = std::make_shared<CallResults>(
    Keep::all, std::move(run_one), std::move(cancel), core->runtime_->leadership());
  results->add_submitted(1);
  results->all_submitted();
  core->start();
  return results;
}

void ProcessCore::start() {
  start_once();
  if (!runtime_->is_inline() || results_)
    return;
  while (!has_ended())
    if (!runtime_->run_one())
      news_->end.wait_until(Clock::now() + 1ms);
}

void ProcessCore::start_once() {
  std::lock_guard lock(mutex_);
  if (started_)
    throw Error(name() + " was started before; make another Process for another run");
  auto services = runtime_->services();
  auto job = std::make_shared<actors::NodeTemplate>();
  auto& has = options_.resources;
  job->resources = {has.cpu, has.memory_mb, has.gpu};
  job->image = options_.image;
  job->use = results_ ? actors::NodeUse::future : actors::NodeUse::process;
  job->kind = results_ ? "async" : "process";
  job->max_retries = 0; // At most once, so chaos mode does not kill it.
  auto call = std::make_shared<actors::Call>();
  call->callable = call_.callable;
  call->single = true;
  call->sink = results_;
  auto task = std::make_shared<actors::TaskBatch>();
  task->call = std::move(call);
  task->ends = {call_.arguments.size()};
  task->arguments = call_.arguments;
  task->kept = call_.kept;
  std::shared_ptr<actors::ProcessTrace> trace;
  if (services->trace)
    trace = std::make_shared<actors::ProcessTrace>(services->trace, number_, name());
  auto& table = runtime_->processes();
  table.add(number_, shared_from_this());
  try {
    runtime_->enlist(weak_from_this());
    runtime_->spawn("process", actor_, [&](caf::actor_system& system) {
      return actors::spawn_process(
        system,
        {.name = name(),
         .task = std::move(task),
         .nested = runtime_->is_inline(),
         .start_node =
           [services, job](caf::event_based_actor* parent, const caf::actor& process,
                           const actors::NodeOrder& order) {
             return actors::spawn_node_link(parent, services, job, process, order);
           },
         .backend = services->backend,
         .news = news_,
         .trace = std::move(trace),
         .ended = [&table, number = number_] { table.remove(number); }});
    });
  } catch (...) {
    table.remove(number_);
    throw;
  }
  started_ = true;
  call_ = {}; // The actor now holds the call.
}

bool ProcessCore::started() const {
  runtime_->check_open();
  std::lock_guard lock(mutex_);
  return started_;
}

void ProcessCore::require_started(const char* what) const {
  if (!started())
    throw Error(std::string("Process::") + what + " of " + name() +
                ", which was not started; call start() first");
}

std::shared_ptr<const actors::ProcessEnd> ProcessCore::ended_well() const {
  auto end = news_->end.value();
  if (end->problem)
    std::rethrow_exception(end->problem);
  return end;
}

/// Waits for an actor's reply. An inline session runs tasks, among them processes of
/// async(), meanwhile.
template <class T>
bool ProcessCore::await(const actors::Reply<T>& reply, Clock::time_point limit) const {
  if (!runtime_->is_inline()) {
    actors::ObjectHost::Pause pause;
    return reply.wait_until(limit);
  }
  InlinePatience patience;
  while (!reply.is_set()) {
    if (Clock::now() >= limit)
      return false;
    if (runtime_->run_one()) {
      patience.renew();
      continue;
    }
    patience.check();
    reply.wait_until(Clock::now() + 1ms);
  }
  return true;
}

bool ProcessCore::join(Clock::time_point limit) {
  require_started("join");
  if (!await(news_->end, limit))
    return false;
  ended_well();
  return true;
}

void ProcessCore::end(const char* what, std::chrono::milliseconds grace) {
  require_started(what);
  if (!has_ended())
    runtime_->tell(actor_, actors::EndProcess{grace});
}

void ProcessCore::kill() {
  require_started("kill");
  if (runtime_->is_inline())
    throw Error("Process::kill of " + name() +
                ": inline runs on one thread, which is this program's own");
  end("kill", 0ms);
}

void ProcessCore::end_with_session() const {
  if (actor_) // Null while start_once() is failing.
    caf::anon_send_exit(actor_, caf::exit_reason::user_shutdown);
}

bool ProcessCore::is_alive() const {
  return started() && !has_ended();
}

std::optional<int> ProcessCore::exit_code() const {
  if (!started() || !has_ended())
    return std::nullopt;
  return ended_well()->exit_code;
}

std::string ProcessCore::job_id() const {
  if (!started())
    return {};
  await(news_->job, Results::forever);
  return news_->job.value();
}

int ProcessCore::pid() const {
  if (!started())
    return 0;
  await(news_->pid, Results::forever);
  return news_->pid.value();
}

std::string ProcessCore::logs() const {
  if (!started())
    return {};
  auto reply = std::make_shared<actors::Reply<std::string>>();
  if (!has_ended())
    runtime_->tell(actor_, actors::AskProcessLogs{reply});
  // An actor that has just ended does not answer.
  while (!has_ended() && !reply->wait_until(Clock::now() + 20ms))
    ;
  return has_ended() ? news_->end.value()->output : reply->value();
}

} // namespace fiber::detail
