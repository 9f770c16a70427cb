// SPDX-License-Identifier: Apache-2.0
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
#include "libfiber/results/call_results.hpp"
#include "libfiber/session/runtime.hpp"

namespace fiber::detail {

/// A pool as its facade and its calls share it: the way to its actor.
class PoolCore final : public ActorHolder,
                       public StatsSource,
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
  /// Ends tasks that were handed to an actor that has just gone.
  void check_gone(CallResults& results);
  /// Ends tasks that can't be handed to the actor any more.
  static void end_submitted(CallResults& results);
  /// A call will hand over tasks, until call_fed(). Throws Closed.
  void call_begins();
  void call_fed();
  /// Unfinished tasks that a call with a window has at most.
  std::size_t window_tasks() const;
  void start_workers();
  bool wait_workers(Results::Clock::time_point limit);
  void resize(std::size_t workers);
  void autoscale(std::size_t min, std::size_t max, std::chrono::milliseconds idle);
  void close();
  void terminate();
  void join();
  /// terminate() and join() for a destructor.
  void end();
  PoolStats stats();
  std::shared_ptr<actors::StatsReply> ask_stats() override;
  const std::string& name() const override { return name_; }
  std::shared_ptr<actors::ReportReply> ask_report() override;
  std::optional<actors::PoolReport> report(const actors::ReportReply& reply,
                                           Results::Clock::time_point limit) override;

  void release() override { actor_ = nullptr; }
  /// Runs a task of an inline session on this thread.
  bool run_one() { return runtime_->run_one(); }

private:
  PoolCore(std::shared_ptr<Runtime> runtime, PoolOptions options);
  void spawn();
  /// Waits for what an actor will say; on an inline session runs tasks meanwhile, unless
  /// the pool was terminated.
  template <class T>
  bool await(const actors::Reply<T>& reply, Results::Clock::time_point limit);
  void check_resources(const AnyCallable& callable);
  void check_speculation(double factor) const;
  void check_open() const; ///< Under the lock.

  std::shared_ptr<Runtime> runtime_;
  PoolOptions options_;
  std::uint32_t number_ = 0; ///< In the session.
  std::string name_;
  const std::size_t workers_;                       ///< At the start.
  std::atomic<std::size_t> most_workers_{workers_}; ///< That there may have been.
  std::shared_ptr<actors::NodeTemplate> job_ = std::make_shared<actors::NodeTemplate>();
  std::mutex mutex_; ///< Of what decides about resources and the end.
  bool started_ = false, closed_ = false;
  std::size_t feeding_ = 0; ///< Calls that began and may hand over more.
  /// What remains when the actor is gone, however it ended: nobody may wait for it any
  /// more.
  struct Aftermath {
    std::mutex mutex;
    bool gone = false;
    std::vector<std::weak_ptr<CallResults>> calls;
    actors::Signal signal;

    void add(const std::shared_ptr<CallResults>& results);
    void actor_gone();
  };
  std::shared_ptr<Aftermath> aftermath_ = std::make_shared<Aftermath>();
  std::atomic<std::uint64_t> calls_{0};
  std::atomic<bool> terminated_{false};
  caf::actor actor_;
};

} // namespace fiber::detail
