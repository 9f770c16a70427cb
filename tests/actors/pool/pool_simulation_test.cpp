// SPDX-License-Identifier: Apache-2.0
// The promise: whatever happens to the nodes of a pool in whatever order, each task ends
// exactly once, with its value or with the true reason; and then no task, node or caller
// is left.
//
// The pool and its supervisor are the real ones, on CAF's test scheduler.
// FIBER_SIM_HISTORIES is the number of histories, FIBER_SIM_FROM the seed of the first;
// FIBER_SIM_SEED replays one and prints it.

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <caf/scheduler/test_coordinator.hpp>
#include <gtest/gtest.h>

#include "actors/pool/pool_state.hpp"
#include "base/log.hpp"
#include "fiber/detail/caf/scheduler.hpp"
#include "tests/actors/pool/simulated_node.hpp"

using namespace fiber;
using namespace fiber::actors;
using namespace fiber::actors::simulation;

namespace {

using std::chrono::microseconds;
using Clock = caf::actor_clock;

class LedgerSink final : public ResultSink {
public:
  LedgerSink(std::shared_ptr<Ledger> ledger, std::uint64_t call)
    : ledger_(std::move(ledger)), call_(call) {}
  void deliver(std::vector<Completion> completions) override {
    ledger_->deliver(call_, completions);
  }

private:
  std::shared_ptr<Ledger> ledger_;
  std::uint64_t call_;
};

/// One history, drawn from a seed.
class History {
public:
  History(caf::actor_system& system, std::uint64_t seed, bool tells)
    : system_(system),
      scheduler_(static_cast<caf::scheduler::test_coordinator&>(system.scheduler())),
      ledger_(std::make_shared<Ledger>(seed, tells)),
      before_(system.registry().running()) {}

  /// Returns what was wrong with the history.
  std::vector<std::string> play() {
    draw_plan();
    draw_calls();
    start_pool();
    if (!run_until([&] { return actions_.empty() && all_resolved(); }))
      ledger_->complain("stuck with " + std::to_string(ledger_->resolved) + " of " +
                        std::to_string(ledger_->expected()) + " tasks ended");
    if (!ended_)
      check_records();
    end_pool();
    ledger_->judge();
    return ledger_->complaints;
  }
  /// Returns the events that occurred; without losses, time limits and copies if the pool
  /// was terminated.
  const Seen& seen() const { return ledger_->seen; }

private:
  using Action = std::function<void()>;

  std::uint64_t below(std::uint64_t n) { return ledger_->below(n); }
  bool one_in(std::uint64_t n) { return ledger_->one_in(n); }

  void draw_plan() {
    auto& plan = ledger_->plan;
    plan.max_retries = static_cast<int>(below(5)) - 1;
    plan.retry_exceptions = one_in(3);
    plan.max_tasks = one_in(4) ? 1 + below(6) : 0;
    for (auto* may : {&plan.kills, &plan.after_results, &plan.drains, &plan.leases,
                      &plan.silences, &plan.poison, &plan.throwing, &plan.duplicates,
                      &plan.slow, &plan.hangs, &plan.failing_starts, &plan.limits})
      *may = one_in(3);
    plan.speculate = plan.max_retries != 0 && one_in(2);
    plan.pages = one_in(2);
    plan.padded = one_in(30);
    plan.storm = one_in(8);
  }

  void draw_calls() {
    auto calls = 1 + below(3);
    for (std::uint64_t id = 0; id < calls; ++id) {
      auto& story = ledger_->calls.emplace_back();
      auto size = one_in(4) ? below(4) : one_in(10) ? below(300) : below(40);
      story.tasks.resize(size);
      story.padding = ledger_->plan.padded ? below(40'000) : 0;
      for (auto& task : story.tasks)
        draw_task(task);
      draw_actions(id, at(100'000));
    }
    if (one_in(4))
      for (auto n = 1 + below(3); n > 0; --n)
        actions_.emplace(at(30'000), [this] {
          ledger_->saw(Event::resize);
          caf::anon_send(pool_, Resize{1 + below(6)});
        });
    if (one_in(10)) {
      actions_.emplace(at(10'000), [this] { caf::anon_send(pool_, StartWorkers{}); });
      actions_.emplace(at(10'000), [this] { caf::anon_send(pool_, AwaitWorkers{up_}); });
    }
    if (one_in(6))
      actions_.emplace(at(60'000), [this] { terminate(); });
  }

  void draw_task(Story& task) {
    auto& plan = ledger_->plan;
    // Without a limit on retries, no task may kill or throw for ever.
    auto forever = plan.max_retries >= 0;
    if (plan.poison && one_in(12))
      task.kills = forever && one_in(2) ? -1 : static_cast<int>(1 + below(3));
    if (plan.throwing && one_in(6))
      task.throws = forever && one_in(2) ? -1 : static_cast<int>(1 + below(3));
  }

  /// Submits the tasks of a call in batches.
  void draw_actions(std::uint64_t id, Clock::time_point when) {
    auto& tasks = ledger_->calls[id].tasks;
    static constexpr std::size_t chunks[] = {0, 0, 1, 2, 5, 20};
    auto call = std::make_shared<Call>();
    call->id = id;
    call->callable = AnyCallable::of<Argument, false>(&simulated_task);
    call->chunksize = chunks[below(std::size(chunks))];
    call->single = tasks.size() == 1 && one_in(2);
    if (ledger_->plan.speculate)
      call->speculate = 1 + static_cast<double>(below(8));
    call->sink = std::make_shared<LedgerSink>(ledger_, id);
    for (std::size_t first = 0; first < tasks.size();) {
      auto n = std::min(tasks.size() - first, std::size_t{1 + below(40)});
      actions_.emplace(when, [this, call, first, n] { submit(call, first, n); });
      first += n;
      if (one_in(2))
        when += microseconds(below(10'000));
    }
    actions_.emplace(when, [this, id] { caf::anon_send(pool_, EndCall{id}); });
    if (one_in(8))
      actions_.emplace(when + microseconds(below(100'000)), [this, id] {
        auto& story = ledger_->calls[id];
        story.cancelled = true;
        if (std::ranges::any_of(story.tasks, [](auto& task) { return !task.delivered; }))
          ledger_->saw(Event::cancel);
        caf::anon_send(pool_, CancelCall{id});
      });
  }

  void submit(const std::shared_ptr<const Call>& call, std::size_t first, std::size_t n) {
    auto batch = std::make_shared<TaskBatch>();
    batch->call = call;
    batch->first = first;
    Bytes arguments;
    Writer writer(arguments);
    auto& story = ledger_->calls[call->id];
    for (auto i = first; i < first + n; ++i) {
      pack(writer, Argument{argument_of(call->id, i), std::string(story.padding, 'x')});
      batch->ends.push_back(arguments.size());
    }
    batch->arguments = Payload(std::move(arguments));
    story.submitted = first + n;
    caf::anon_send(pool_, Submit{std::move(batch)});
  }

  void start_pool() {
    PoolSettings settings;
    settings.name = "pool";
    settings.workers = 1 + below(6);
    settings.workers_per_job = 1 + below(3);
    settings.max_tasks_per_worker = ledger_->plan.max_tasks;
    settings.max_retries = ledger_->plan.max_retries;
    settings.retry_exceptions = ledger_->plan.retry_exceptions;
    settings.seed = 1 + below(1000);
    settings.cancel_grace = std::chrono::milliseconds(below(50));
    settings.start_node = [ledger = ledger_](caf::event_based_actor* supervisor,
                                             const caf::actor& pool,
                                             const NodeOrder& order) {
      return spawn_simulated_node(supervisor, ledger, pool, order);
    };
    ledger_->tell("%zu workers, %zu a job, max_retries %d\n", settings.workers,
                  settings.workers_per_job, settings.max_retries);
    pool_ = spawn_pool(system_, std::move(settings));
    pool_->attach_functor([ended = ended_flag_] { *ended = true; });
  }

  bool all_resolved() const { return ledger_->resolved >= ledger_->expected(); }

  /// Runs events in random order until `done` and no message is left now.
  template <class Done>
  bool run_until(Done done) {
    for (int step = 0; step < 200'000; ++step) {
      auto& jobs = scheduler_.jobs;
      if (!ledger_->complaints.empty())
        return true;
      // Sometimes the next event comes before all messages of the last one are delivered.
      if (!jobs.empty() && !one_in(20)) {
        std::swap(jobs.front(), jobs[below(jobs.size())]);
        scheduler_.run_once();
        continue;
      }
      if (jobs.empty() && done())
        return true;
      auto timeout = detail::next_timeout(scheduler_.clock());
      if (!actions_.empty() && (!timeout || actions_.begin()->first <= *timeout)) {
        auto act = std::move(actions_.extract(actions_.begin()).mapped());
        act();
      } else if (timeout) {
        scheduler_.trigger_timeout();
      } else if (jobs.empty()) {
        return done();
      }
    }
    return false;
  }

  void terminate() {
    ledger_->tell("terminate\n");
    ledger_->terminated = ended_ = true;
    actions_.clear(); // No more tasks are submitted.
    caf::anon_send(pool_, TerminatePool{});
  }

  /// All calls are over: the pool must have forgotten them.
  void check_records() {
    auto* actor = dynamic_cast<caf::stateful_actor<PoolState>*>(
      caf::actor_cast<caf::abstract_actor*>(pool_));
    auto& state = actor->state;
    auto left = state.queue.size() + state.queue.suspects() + state.calls.size() +
                state.completions.size();
    std::size_t slots = 0;
    for (auto& [incarnation, node] : state.nodes) {
      left += node.opened.size();
      if (!state.close_pending && !state.ending) // Else the node will hear of them.
        left += node.ended_calls.size();
      for (auto& slot : node.slots)
        for (auto& range : slot.take_all()) // The pool does not need them any more.
          left += range.tasks.ended ? 0 : range.tasks.size();
      slots += node.slots.size();
    }
    if (left > 0)
      ledger_->complain("the pool remembers " + std::to_string(left) +
                        " things of ended calls");
    if (state.idle.size() > 2 * slots + 16)
      ledger_->complain("the pool's list of idle slots grows");
    auto stats = state.stats();
    ledger_->saw(Event::copy, stats.speculated);
    ledger_->saw(Event::loss, stats.workers_lost);
    for (auto& call : ledger_->calls)
      for (auto& task : call.tasks)
        ledger_->saw(Event::overdue, task.overdue);
    if (state.speculative_calls > 0)
      ledger_->complain("the pool remembers calls that want copies");
    if (stats.done + stats.failed != ledger_->resolved)
      ledger_->complain("the pool's count of ended tasks is wrong");
  }

  void end_pool() {
    if (ledger_->complaints.empty() && !ended_) {
      if (one_in(2))
        caf::anon_send(pool_, ClosePool{});
      else
        terminate();
    }
    actions_.clear();
    auto ended = run_until([&] { return *ended_flag_ && ledger_->nodes_alive == 0; });
    if (ledger_->complaints.empty() &&
        (!ended || !*ended_flag_ || ledger_->nodes_alive > 0))
      ledger_->complain("the pool or its nodes do not end");
    caf::anon_send_exit(pool_, caf::exit_reason::kill);
    pool_ = nullptr;
    do { // Pending timers keep their actors alive.
      scheduler_.run();
    } while (scheduler_.trigger_timeouts() > 0 || scheduler_.has_job());
    if (ledger_->complaints.empty() && system_.registry().running() != before_)
      ledger_->complain(std::to_string(system_.registry().running() - before_) +
                        " actors are left");
  }

  Clock::time_point at(std::uint64_t within) {
    return scheduler_.clock().now() + microseconds(below(within));
  }

  caf::actor_system& system_;
  caf::scheduler::test_coordinator& scheduler_;
  std::shared_ptr<Ledger> ledger_;
  std::size_t before_;
  std::multimap<Clock::time_point, Action> actions_;
  std::shared_ptr<WorkersReply> up_ = std::make_shared<WorkersReply>();
  caf::actor pool_;
  std::shared_ptr<bool> ended_flag_ = std::make_shared<bool>(false);
  bool ended_ = false;
};

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  auto* text = std::getenv(name);
  return text != nullptr ? std::stoull(text) : otherwise;
}

/// Several histories share an actor system, whose start costs as much as some histories.
void play(std::uint64_t first, std::uint64_t count, bool tells, Seen& seen) {
  caf::actor_system_config config;
  detail::set_scheduler(config, "testing");
  caf::actor_system system(config);
  for (auto seed = first; seed < first + count; ++seed) {
    History history(system, seed, tells);
    auto complaints = history.play();
    std::ranges::transform(seen, history.seen(), seen.begin(), std::plus());
    for (auto& complaint : complaints)
      ADD_FAILURE() << complaint << "\nreplay with FIBER_SIM_SEED=" << seed;
    if (!complaints.empty())
      break;
  }
}

TEST(PoolHistory, each_task_ends_once_in_every_random_history) {
  log().set_level(spdlog::level::off);
  Seen seen{};
  if (auto seed = from_environment("FIBER_SIM_SEED", 0); seed > 0) {
    play(seed, 1, true, seen);
    return;
  }
  auto from = from_environment("FIBER_SIM_FROM", 1);
  auto histories = from_environment("FIBER_SIM_HISTORIES", 100'000);
  constexpr std::uint64_t together = 1000;
  for (std::uint64_t done = 0; done < histories && !HasFailure(); done += together)
    play(from + done, std::min(together, histories - done), false, seen);
  for (std::size_t i = 0; i < seen.size(); ++i)
    EXPECT_TRUE(seen[i] > 0 || histories < together) << "no " << event_names[i];
}

} // namespace
