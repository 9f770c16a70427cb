// SPDX-License-Identifier: Apache-2.0
// process/ implements Process, async() and this_task on top of the process actor.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include <caf/all.hpp>

#include "actors/process/process_actor.hpp"
#include "fiber/process.hpp"
#include "libfiber/results/call_results.hpp"
#include "libfiber/session/process_table.hpp"
#include "libfiber/session/runtime.hpp"

namespace fiber::detail {

/// The shared state of a Process's handles: its actor, and what the actor has reported.
class ProcessCore final : public ActorHolder,
                          public RunningProcess,
                          public std::enable_shared_from_this<ProcessCore> {
public:
  using Clock = Results::Clock;

  static std::shared_ptr<ProcessCore> make(ProcessOptions options, PackedCall call);
  /// Starts a process whose result is a value.
  static std::shared_ptr<Results> start_async(PackedCall call);

  void start();
  bool join(Clock::time_point limit);
  /// Ends the process by SIGTERM and, after `grace`, by SIGKILL; without SIGTERM if
  /// `grace` is 0. `what` names the calling function.
  void end(const char* what, std::chrono::milliseconds grace);
  void kill();
  bool is_alive() const;
  std::optional<int> exit_code() const;
  const std::string& name() const { return options_.name; }
  bool daemon() const override { return options_.daemon; }
  std::string job_id() const;
  int pid() const;
  std::string logs() const;

  void await_end() const override { news_->end.wait_until(Results::forever); }
  void end_with_session() const override;
  void release() override { actor_ = nullptr; }

private:
  ProcessCore(std::shared_ptr<Runtime> runtime, ProcessOptions options, PackedCall call);
  void start_once();
  bool started() const; ///< Throws Closed.
  void require_started(const char* what) const;
  template <class T>
  bool await(const actors::Reply<T>& reply, Clock::time_point limit) const;
  bool has_ended() const { return news_->end.is_set(); }
  /// Returns how the process ended. Throws the reason if it could not be started.
  /// REQUIRES: has_ended().
  std::shared_ptr<const actors::ProcessEnd> ended_well() const;

  const std::shared_ptr<Runtime> runtime_;
  const std::uint64_t number_; ///< Unique in the session.
  ProcessOptions options_;
  mutable std::mutex mutex_;
  bool started_ = false;                 ///< If true, actor_ is set.
  PackedCall call_;                      ///< Empty once started.
  std::shared_ptr<CallResults> results_; ///< Set by start_async() only.
  const std::shared_ptr<actors::ProcessNews> news_ =
    std::make_shared<actors::ProcessNews>();
  caf::actor actor_;
};

} // namespace fiber::detail
