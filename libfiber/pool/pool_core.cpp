// SPDX-License-Identifier: Apache-2.0
#include "libfiber/pool/pool_core.hpp"

#include <algorithm>
#include <utility>

#include <spdlog/fmt/fmt.h>

#include "actors/pool/pool_trace.hpp"
#include "base/bounded_time.hpp"
#include "fiber/session.hpp"
#include "libfiber/pool/feed_target.hpp"
#include "libfiber/pool/pool_part.hpp"
#include "libfiber/session/resource_check.hpp"

namespace fiber::detail {

using namespace std::chrono_literals;

namespace {

constexpr std::size_t max_workers = 100000;
/// Limits on the unfinished tasks of a call with a window: enough to give each worker
/// several tasks at a time.
constexpr std::size_t min_window = 16 * 1024;
constexpr std::size_t window_a_worker = 128;
/// More than any call has, and far from overflow in arithmetic.
constexpr std::size_t max_chunk = std::size_t{1} << 40;
constexpr double max_speculate = 1e6;

void check(bool good, const char* key, const char* valid, const std::string& problem) {
  if (!good)
    throw ConfigError(key, "PoolOptions", valid, problem);
}

std::exception_ptr pool_ended() {
  return std::make_exception_ptr(Closed("the pool has ended"));
}

} // namespace

std::shared_ptr<PoolCore> PoolCore::make(PoolOptions options) {
  auto core =
    std::shared_ptr<PoolCore>(new PoolCore(Runtime::require(), std::move(options)));
  core->spawn();
  core->runtime_->enlist(core);
  core->runtime_->measure(core);
  core->runtime_->view().add(std::make_shared<PoolPart>(core));
  return core;
}

PoolCore::PoolCore(std::shared_ptr<Runtime> runtime, PoolOptions options)
  : runtime_(std::move(runtime)), options_(std::move(options)),
    workers_(options_.workers > 0 ? options_.workers : cpu_count()) {
  check(workers_ <= max_workers, "workers", "0 to 100000",
        std::to_string(workers_) + " workers are too many");
  check(options_.workers_per_job >= 1 && options_.workers_per_job <= 4096,
        "workers_per_job", "1 to 4096",
        std::to_string(options_.workers_per_job) + " can't be used");
  check(options_.max_retries >= -1, "max_retries",
        "-1 (no limit), 0 (at most once) or more",
        std::to_string(options_.max_retries) + " can't be used");
  fiber::detail::check_resources(options_.resources, "PoolOptions");
  check(options_.task_timeout.value_or(1ms) > 0ms, "task_timeout", "more than 0",
        std::to_string(options_.task_timeout.value_or(0ms).count()) +
          " ms can't be used");
  check(options_.cancel_grace >= 0ms, "cancel_grace", "0 or more",
        std::to_string(options_.cancel_grace.count()) + " ms can't be used");
  if (options_.task_timeout)
    options_.task_timeout = bounded(*options_.task_timeout);
  options_.cancel_grace = bounded(options_.cancel_grace);
  number_ = static_cast<std::uint32_t>(runtime_->next_pool());
  name_ = "pool" + std::to_string(number_);
  auto& init = options_.initializer;
  job_->max_retries = options_.max_retries;
  job_->task_timeout = options_.task_timeout.value_or(0ms);
  job_->initializer = {0, true, init.open(), {}, init.state()};
}

void PoolCore::spawn() {
  auto services = runtime_->services();
  if (services->trace)
    job_->trace = std::make_shared<actors::PoolTrace>(services->trace, number_, name_,
                                                      runtime_->is_inline());
  auto job = std::shared_ptr<const actors::NodeTemplate>(job_);
  runtime_->spawn("pool", actor_, [&](caf::actor_system& system) {
    return actors::spawn_pool(
      system, {.name = name_,
               .workers = workers_,
               .workers_per_job = options_.workers_per_job,
               .max_tasks_per_worker = options_.max_tasks_per_worker,
               .max_retries = options_.max_retries,
               .retry_exceptions = options_.retry_exceptions,
               .task_timeout = options_.task_timeout.value_or(0ms),
               .cancel_grace = options_.cancel_grace,
               .nested = runtime_->is_inline(),
               .start_node =
                 [services, job](caf::event_based_actor* parent, const caf::actor& pool,
                                 const actors::NodeOrder& order) {
                   return actors::spawn_node_link(parent, services, job, pool, order);
                 },
               .chaos_counts = services->chaos_counts,
               .trace = job_->trace,
               .roster = services->roster,
               .start_deadline = services->start_deadline});
  });
  actor_->attach_functor([ending = ending_](const caf::error&) { ending->actor_gone(); });
}

void PoolCore::record(const std::shared_ptr<actors::Trace>& trace) {
  if (recorded_.exchange(trace.get()) == trace.get())
    return;
  actors::TraceTasks message;
  if (trace)
    message.trace =
      std::make_shared<actors::PoolTrace>(trace, number_, name_, runtime_->is_inline());
  try {
    runtime_->post(actor_, std::move(message));
  } catch (const Closed&) {
    return; // It does nothing any more that could be recorded.
  }
}

void PoolCore::Ending::add(const std::shared_ptr<CallResults>& results) {
  std::lock_guard lock(mutex);
  if (calls.size() == calls.capacity())
    std::erase_if(calls, [](auto& known) { return known.expired(); });
  calls.push_back(results);
}

void PoolCore::Ending::actor_gone() {
  std::vector<std::weak_ptr<CallResults>> left;
  {
    std::lock_guard lock(mutex);
    gone = true;
    left.swap(calls);
  }
  for (auto& known : left)
    if (auto results = known.lock())
      results->fail_missing(pool_ended());
  signal.set(true);
}

void PoolCore::fail_if_gone(CallResults& results) {
  std::unique_lock lock(ending_->mutex);
  if (!ending_->gone)
    return;
  lock.unlock();
  fail_submitted(results);
}

void PoolCore::fail_submitted(CallResults& results) {
  results.fail_missing(pool_ended());
}

void PoolCore::check_open() const {
  if (closed_)
    throw Closed("the pool takes no more calls");
}

void PoolCore::check_resources(const AnyCallable& callable) {
  std::lock_guard lock(mutex_);
  check_open();
  auto asked = callable.resources();
  auto& has = options_.resources;
  if (asked && !started_ && has == Resources{})
    has = *asked;
  if (asked)
    check_grant(has, *asked, "the pool");
  if (!std::exchange(started_, true))
    job_->resources = {has.cpu, has.memory_mb, has.gpu};
}

void PoolCore::check_speculation(double factor) const {
  if (factor == 0)
    return;
  if (!(factor >= 1 && factor <= max_speculate))
    throw ConfigError("speculate", "MapOptions", "0 (off), or from 1 to 1000000",
                      fmt::format("{} can't be used", factor));
  if (options_.max_retries == 0)
    throw ConfigError("speculate", "MapOptions",
                      "0 (off), or a pool with another max_retries than 0",
                      "a copy is a second run of the task, and max_retries = 0 of the "
                      "pool means at most one run");
}

CallFeed PoolCore::begin(AnyCallable callable, MapOptions options, Keep keep, bool single,
                         const CallName* name) {
  check_speculation(options.speculate);
  check_resources(callable);
  actors::check_size(callable.state().size());
  Bytes ignored;
  Writer place(ignored); // Packs on trial: a callable that cannot be packed is reported
                         // to the caller here.
  pack_code(place, code_of(callable.open()), CodeKind::open);
  auto id = ++calls_;
  auto weak = weak_from_this();
  auto run_one = runtime_->is_inline() ? std::function<bool()>([weak] {
    auto core = weak.lock();
    return core && core->run_one();
  })
                                       : nullptr;
  auto cancel = [weak, id] {
    try {
      if (auto core = weak.lock())
        core->tell(actors::CancelCall{id});
    } catch (const Closed&) { // Nothing is left to cancel.
    }
  };
  std::shared_ptr<JournalledResults> journal;
  std::shared_ptr<CallResults> results;
  if (name != nullptr)
    results = journal = std::make_shared<JournalledResults>(
      JournalFile(std::move(options.journal), *name), runtime_->journals(), keep,
      std::move(run_one), std::move(cancel), runtime_->leadership());
  else
    results = std::make_shared<CallResults>(keep, std::move(run_one), std::move(cancel),
                                            runtime_->leadership());
  if (options.progress)
    results->show(
      runtime_->progress().add(name_ + "/" + std::to_string(id), weak_from_this()));
  ending_->add(results);
  auto call = std::make_shared<actors::Call>();
  call->id = id;
  call->callable = std::move(callable);
  call->chunksize = std::min(options.chunksize, max_chunk);
  call->speculate = options.speculate;
  call->single = single;
  call->sink = results;
  return CallFeed(std::make_unique<CallFeed::Target>(
    shared_from_this(), std::move(call), std::move(results), std::move(journal)));
}

template <class T>
bool PoolCore::await(const actors::Reply<T>& reply, Results::Clock::time_point limit) {
  if (!runtime_->is_inline())
    return reply.wait_until(limit);
  while (!reply.is_set()) {
    if (Results::Clock::now() >= limit)
      return false;
    if (terminated_ || !runtime_->run_one())
      reply.wait_until(Results::Clock::now() + std::chrono::milliseconds(1));
  }
  return true;
}

std::size_t PoolCore::window_tasks() const {
  return std::max(min_window, window_a_worker * max_workers_);
}

void PoolCore::start_workers() {
  check_resources({});
  tell(actors::StartWorkers{});
}

bool PoolCore::wait_workers(Results::Clock::time_point limit) {
  check_resources({});
  auto up = std::make_shared<actors::WorkersReply>();
  tell(actors::AwaitWorkers{up});
  if (!await(*up, limit))
    return false;
  if (auto problem = up->value())
    std::rethrow_exception(problem);
  return true;
}

void PoolCore::resize(std::size_t workers) {
  check(workers >= 1 && workers <= max_workers, "workers", "1 to 100000",
        std::to_string(workers) + " can't be used");
  {
    std::lock_guard lock(mutex_);
    check_open();
  }
  max_workers_ = std::max(max_workers_.load(), workers);
  tell(actors::Resize{workers});
}

void PoolCore::autoscale(std::size_t min, std::size_t max,
                         std::chrono::milliseconds idle) {
  check(max >= 1 && max <= max_workers && min <= max, "autoscale",
        "0 <= min <= max, max from 1 to 100000",
        std::to_string(min) + " to " + std::to_string(max) + " can't be used");
  check(idle >= 1ms, "autoscale", "idle of 1 ms or more",
        std::to_string(idle.count()) + " ms can't be used");
  {
    std::lock_guard lock(mutex_);
    check_open();
  }
  max_workers_ = std::max(max_workers_.load(), max);
  tell(actors::Autoscale{min, max, bounded(idle)});
}

void PoolCore::close() {
  {
    std::lock_guard lock(mutex_);
    // Calls that have begun were accepted. The last of them to submit all of its tasks
    // closes the pool.
    if (std::exchange(closed_, true) || feeding_ > 0)
      return;
  }
  tell(actors::ClosePool{});
}

void PoolCore::call_begins() {
  std::lock_guard lock(mutex_);
  check_open();
  ++feeding_;
}

void PoolCore::call_fed() {
  {
    std::lock_guard lock(mutex_);
    if (--feeding_ > 0 || !closed_)
      return;
  }
  tell(actors::ClosePool{});
}

void PoolCore::terminate() {
  {
    std::lock_guard lock(mutex_);
    closed_ = true;
  }
  terminated_ = true;
  tell(actors::TerminatePool{});
}

void PoolCore::join() {
  {
    std::lock_guard lock(mutex_);
    if (!closed_)
      throw Error("Pool::join waits for workers that were told to end; call close() or "
                  "terminate() first");
  }
  await(ending_->signal, Results::forever);
}

void PoolCore::end() {
  try {
    terminate();
    await(ending_->signal, Results::forever);
  } catch (const Closed&) { // The session has ended, and the pool with it.
  }
}

actors::WaitingJobs PoolCore::waiting_jobs() {
  return runtime_->services()->roster->waiting(name_);
}

std::shared_ptr<actors::StatsReply> PoolCore::ask_stats() {
  auto reply = std::make_shared<actors::StatsReply>();
  tell(actors::AskStats{reply});
  return reply;
}

PoolStats PoolCore::stats() {
  auto reply = ask_stats();
  // An actor that has just ended does not answer.
  while (!reply->wait_until(Results::Clock::now() + std::chrono::milliseconds(20)))
    if (ending_->signal.is_set())
      throw Closed("the pool has ended");
  return reply->value();
}

std::shared_ptr<actors::ReportReply> PoolCore::ask_report() {
  auto reply = std::make_shared<actors::ReportReply>();
  try {
    runtime_->post(actor_, actors::AskReport{reply});
  } catch (const Closed&) {
    return nullptr;
  }
  return reply;
}

std::optional<actors::PoolReport> PoolCore::report(const actors::ReportReply& reply,
                                                   Results::Clock::time_point limit) {
  auto wait = [&] {
    return reply.wait_until(
      std::min(limit, Results::Clock::now() + std::chrono::milliseconds(20)));
  };
  while (!wait())
    if (ending_->signal.is_set() || Results::Clock::now() >= limit)
      return std::nullopt;
  return reply.value();
}

} // namespace fiber::detail
