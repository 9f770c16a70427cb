// SPDX-License-Identifier: Apache-2.0
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

/// A process as its handles share it: the way to its actor, and what that tells.
class ProcessCore final : public ActorHolder,
                          public RunningProcess,
                          public std::enable_shared_from_this<ProcessCore> {
public:
  using Clock = Results::Clock;

  static std::shared_ptr<ProcessCore> make(ProcessOptions options, PackedCall call);
  /// One whose result is a value, started.
  static std::shared_ptr<Results> start_async(PackedCall call);

  void start();
  bool join(Clock::time_point limit);
  /// By SIGKILL after `grace`, before that by SIGTERM if there is any. `what` is the
  /// caller's name.
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
  /// Only of one that has ended. Throws why it could not be started.
  std::shared_ptr<const actors::ProcessEnd> ended_well() const;

  const std::shared_ptr<Runtime> runtime_;
  const std::uint64_t number_; ///< In the session.
  ProcessOptions options_;
  mutable std::mutex mutex_;
  bool started_ = false;                 ///< Then actor_ is there.
  PackedCall call_;                      ///< Until it is started.
  std::shared_ptr<CallResults> results_; ///< Of one whose result is a value; else null.
  const std::shared_ptr<actors::ProcessNews> news_ =
    std::make_shared<actors::ProcessNews>();
  caf::actor actor_;
};

} // namespace fiber::detail
