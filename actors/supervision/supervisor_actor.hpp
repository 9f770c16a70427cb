// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <caf/actor.hpp>
#include <caf/fwd.hpp>

#include "actors/supervision/restart_policy.hpp"
#include "fiber/detail/caf/message_type.hpp"
#include "fiber/supervision.hpp"

// This folder holds the supervisor actor, which restarts children as OTP's supervisors
// do, and its restart policy.

namespace fiber::actors {

/// One child of a supervisor, and how to start each of its incarnations.
struct ChildSpec {
  /// Stop limit of a child that may take as long as it needs to stop, for example a
  /// supervisor.
  static constexpr auto no_limit = std::chrono::milliseconds::max();

  std::string name; ///< Unique among the supervisor's children.
  Restart restart = Restart::permanent;
  /// Starts one incarnation. May throw or return nothing, which counts as a loss.
  std::function<caf::actor(caf::event_based_actor* supervisor)> start;
  /// Time from being asked to end until it is killed; 0: it is killed at once.
  std::chrono::milliseconds stop_limit{5000};
  /// It sends ChildStarted when it has started. Later siblings wait for that, except with
  /// one_for_one.
  bool announces = false;
  /// Called when the child has ended for good while the supervisor goes on. `why` is the
  /// reason of its end.
  std::function<void(const caf::error& why)> forgotten = {};
};

struct SupervisorConfig {
  std::string name = "supervisor"; ///< For logs.
  Strategy strategy = Strategy::one_for_one;
  int intensity = 5; ///< Restarts allowed within `period`; with one more it gives up.
  /// Empty: restarts count since the last ForgiveFailures.
  std::optional<std::chrono::milliseconds> period = std::chrono::seconds(10);
  Backoff backoff = {};
  /// A child that has lived for longer starts a new row of failures.
  std::chrono::milliseconds reset_after = default_reset_after;
  std::uint64_t seed = 0; ///< Of the back-off's jitter.
  /// False: a child that ends as planned, charged or by lease is restarted at once, which
  /// does not count. True, as in OTP: every restart counts.
  bool count_blameless = false;
  /// Stops children all at once instead of one after the other. For children that do not
  /// depend on each other.
  bool stop_together = false;
  std::vector<ChildSpec> children = {}; ///< Started with the supervisor, in order.
};

/// Adds a child behind the others and starts it; if a group is just being restarted, it
/// starts with the group. Answered with its ChildInfo, or with an error if the name is
/// taken, the supervisor is stopping, or a temporary child can't be started. Otherwise a
/// first start that fails is treated like any loss.
struct StartChild {
  ChildSpec spec;
  bool must_start = false; ///< Forgets the child if its first start fails.
};

/// From a child with ChildSpec::announces: it has started.
struct ChildStarted {};

/// Stops a child and forgets it. Answered when it is down, or with an error if it is
/// unknown.
struct StopChild {
  std::string name;
};

/// Resets the count of restarts and the back-off. A wait that has begun goes on.
struct ForgiveFailures {};

/// Sets the intensity; restarts that were counted stay counted.
struct LimitRestarts {
  int intensity = 5;
};

/// Answered with std::vector<ChildInfo>, in the order of their start.
struct ListChildren {};

/// Stops all children in reverse order, answers, and quits. An exit message does the
/// same, and the supervisor quits with its reason.
struct StopSupervisor {};

/// Starts a supervisor, which keeps children alive: when a child ends that should not, it
/// restarts the child and, depending on the strategy, others with it (OTP's semantics). A
/// name never has two live incarnations. Beyond the intensity the supervisor gives up: it
/// stops all children and quits with ExitKind::escalated and the last exits as text,
/// which the supervisor above treats as the loss of a child. Children die with their
/// supervisor, however it ends.
///
/// A child ends for good, and its name is free again, when StopChild stops the child,
/// when a temporary child ends, or when a transient child ends as planned. (OTP keeps the
/// specification of such a transient child; this supervisor forgets it.) The end of a
/// child that the supervisor is stopping does not count against the intensity.
///
/// A child that is stopped in order to be restarted, by this supervisor or one above,
/// gets restart_exit() as the reason: it may keep open requests for its next incarnation.
caf::actor spawn_supervisor(caf::actor_system& system, SupervisorConfig config);

} // namespace fiber::actors

FIBER_ACTOR_MESSAGE(fiber::ChildInfo)
FIBER_ACTOR_MESSAGE(std::vector<fiber::ChildInfo>)
FIBER_ACTOR_MESSAGE(fiber::actors::StartChild)
FIBER_ACTOR_MESSAGE(fiber::actors::ChildStarted)
FIBER_ACTOR_MESSAGE(fiber::actors::StopChild)
FIBER_ACTOR_MESSAGE(fiber::actors::ForgiveFailures)
FIBER_ACTOR_MESSAGE(fiber::actors::LimitRestarts)
FIBER_ACTOR_MESSAGE(fiber::actors::ListChildren)
FIBER_ACTOR_MESSAGE(fiber::actors::StopSupervisor)
