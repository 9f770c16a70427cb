// SPDX-License-Identifier: Apache-2.0
// pool/ implements Pool on top of the pool's actor.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include <caf/all.hpp>

#include "actors/protocol/messages.hpp"
#include "fiber/pool.hpp"
#include "libfiber/monitor/stats_source.hpp"
#include "libfiber/observer/trace_requests.hpp"
#include "libfiber/results/call_results.hpp"
#include "libfiber/session/runtime.hpp"

namespace fiber::detail {

/// The shared state of a Pool and its calls, through which they reach the pool's actor.
class PoolCore final : public ActorHolder,
                       public StatsSource,
                       public observer::TraceSubject,
                       public std::enable_shared_from_this<PoolCore> {
public:
  static std::shared_ptr<PoolCore> make(PoolOptions options);

  CallFeed begin(AnyCallable callable, MapOptions options, Keep keep, bool single,
                 const CallName* name = nullptr);
  /// Throws Closed if the pool or the session has ended.
  template <class Message>
  void tell(Message message) {
    runtime_->tell(actor_, std::move(message));
  }
  /// Fails these tasks if the actor has terminated meanwhile.
  void fail_if_gone(CallResults& results);
  /// Fails tasks that can no longer be sent to the actor.
  static void fail_submitted(CallResults& results);
  /// Announces a call that will submit tasks until call_fed(). Throws Closed.
  void call_begins();
  void call_fed();
  /// Returns the limit on unfinished tasks of a call with a window.
  std::size_t window_tasks() const;
  void start_workers();
  bool wait_workers(Results::Clock::time_point limit);
  void resize(std::size_t workers);
  void autoscale(std::size_t min, std::size_t max, std::chrono::milliseconds idle);
  void close();
  void terminate();
  void join();
  /// Calls terminate() and join(); does not throw Closed.
  void end();
  PoolStats stats();
  std::shared_ptr<actors::StatsReply> ask_stats() override;
  actors::WaitingJobs waiting_jobs() override;
  const std::string& name() const override { return name_; }
  std::shared_ptr<actors::ReportReply> ask_report() override;
  std::optional<actors::PoolReport> report(const actors::ReportReply& reply,
                                           Results::Clock::time_point limit) override;

  void record(const std::shared_ptr<actors::Trace>& trace) override;

  void release() override { actor_ = nullptr; }
  /// Runs one task on this thread, if the session is inline.
  bool run_one() { return runtime_->run_one(); }

private:
  PoolCore(std::shared_ptr<Runtime> runtime, PoolOptions options);
  void spawn();
  /// Waits for an actor's reply. An inline session runs tasks meanwhile, unless the pool
  /// was terminated.
  template <class T>
  bool await(const actors::Reply<T>& reply, Results::Clock::time_point limit);
  void check_resources(const AnyCallable& callable);
  void check_speculation(double factor) const;
  void check_open() const; ///< REQUIRES: mutex_ is held.

  std::shared_ptr<Runtime> runtime_;
  PoolOptions options_;
  std::uint32_t number_ = 0; ///< Unique in the session.
  std::string name_;
  const std::size_t workers_;                      ///< Initial number of workers.
  std::atomic<std::size_t> max_workers_{workers_}; ///< Largest number so far.
  std::shared_ptr<actors::NodeTemplate> job_ = std::make_shared<actors::NodeTemplate>();
  std::mutex mutex_; ///< Guards resources and the three fields below.
  bool started_ = false, closed_ = false;
  std::size_t feeding_ = 0; ///< Calls that may submit more tasks.
  /// State that outlives the pool's actor: it fails unfinished calls when the actor
  /// terminates, for whatever reason, so that no thread waits forever.
  struct Ending {
    std::mutex mutex;
    bool gone = false;
    std::vector<std::weak_ptr<CallResults>> calls;
    actors::Signal signal;

    void add(const std::shared_ptr<CallResults>& results);
    void actor_gone();
  };
  std::shared_ptr<Ending> ending_ = std::make_shared<Ending>();
  std::atomic<std::uint64_t> calls_{0};
  std::atomic<bool> terminated_{false};
  std::atomic<actors::Trace*> recorded_{nullptr}; ///< The last one of record().
  caf::actor actor_;
};

} // namespace fiber::detail
