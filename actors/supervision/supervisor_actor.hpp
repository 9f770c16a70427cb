// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <caf/actor.hpp>
#include <caf/allowed_unsafe_message_type.hpp>
#include <caf/fwd.hpp>

#include "fiber/supervision.hpp"

namespace fiber::actors {

/// One child of a supervisor, and how to start it again and again.
struct ChildSpec {
  /// For a child that may take as long as it needs to stop, such as a supervisor.
  static constexpr auto no_limit = std::chrono::milliseconds::max();

  std::string name; ///< Unique among the children that the supervisor has.
  Restart restart = Restart::permanent;
  /// Starts one incarnation. May throw or return nothing, which counts as a loss.
  std::function<caf::actor(caf::event_based_actor* supervisor)> start;
  /// From being asked to end until it is killed; 0: killed at once.
  std::chrono::milliseconds stop_limit{5000};
  /// It says by child_started when it has started. Unless each child is on its own those
  /// behind it start after that.
  bool announces = false;
  /// Called when it has ended for good while the supervisor goes on. `why` is its end.
  std::function<void(const caf::error& why)> forgotten = {};
};

struct SupervisorConfig {
  std::string name = "supervisor"; ///< For logs.
  Strategy strategy = Strategy::one_for_one;
  int intensity = 5; ///< Restarts within `period`; one more, and the supervisor gives up.
  /// Without one, restarts count since the last forgive.
  std::optional<std::chrono::milliseconds> period = std::chrono::seconds(10);
  Backoff backoff = {};
  std::chrono::milliseconds reset_after{
    10000};               ///< A life so long ends a row of failures.
  std::uint64_t seed = 0; ///< Of the jitter.
  /// False: an end that is planned, charged or by lease is replaced at once and does not
  /// count. True, as in OTP: every restart counts.
  bool count_blameless = false;
  /// Children that do not depend on each other may be stopped all at once instead of one
  /// after the other.
  bool stop_together = false;
  std::vector<ChildSpec> children = {}; ///< Started with the supervisor, in order.
};

/// Puts a child under supervision, behind those that are there, and starts it, or has it
/// start with the others if they are just being restarted. Answered with its ChildInfo;
/// with an error if the name is taken, the supervisor is stopping, or a temporary child
/// can't be started. A first start that fails is otherwise like any loss.
struct StartChild {
  ChildSpec spec;
  bool must_start = false; ///< If its first start fails, it is forgotten instead.
};

/// From a child that announces.
struct ChildStarted {};

/// Stops a child and forgets it. Answered when it is down; with an error if it is
/// unknown.
struct StopChild {
  std::string name;
};

/// Sets the count of restarts and the back-off to zero. A wait that has begun goes on.
struct ForgiveFailures {};

/// From now on so many restarts are allowed; those that have happened count.
struct LimitRestarts {
  int intensity = 5;
};

/// Answered with std::vector<ChildInfo>, in the order of their start.
struct ListChildren {};

/// Stops all children in reverse order, answers, and quits. So does an exit message, with
/// its reason.
struct StopSupervisor {};

/// Keeps children alive: when one ends that shall not, it starts it again and, as the
/// strategy says, others with it (OTP's semantics). A name never has two live
/// incarnations. Beyond the intensity it stops all and quits with ExitKind::escalated and
/// the last exits as text, which for the supervisor above is the loss of a child.
/// Children die with it, however it ends.
///
/// A child ends for good, and its name is free again, when it is stopped by stop_child,
/// when it is temporary and down, or transient and done as planned. (OTP would keep the
/// specification of the latter.) An end that comes while the supervisor is stopping that
/// child is not counted.
///
/// A child that is stopped to start again, by this one or by the one above, hears so by
/// restart_exit(): what it was asked for may wait until then.
caf::actor spawn_supervisor(caf::actor_system& system, SupervisorConfig config);

} // namespace fiber::actors

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(fiber::ChildInfo)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(std::vector<fiber::ChildInfo>)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(fiber::actors::StartChild)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(fiber::actors::ChildStarted)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(fiber::actors::StopChild)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(fiber::actors::ForgiveFailures)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(fiber::actors::LimitRestarts)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(fiber::actors::ListChildren)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(fiber::actors::StopSupervisor)
