// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>

#include "fiber/callable.hpp"

namespace fiber {

/// Which children restart when one of them ends and is to be restarted. Those that run
/// are stopped first, in reverse order of their start; then all start in order.
enum class Strategy {
  one_for_one, ///< That child only.
  one_for_all, ///< All of them.
  rest_for_one ///< That child and those started after it.
};

/// Which ends of a child lead to a restart.
enum class Restart {
  permanent, ///< All ends, a normal end included.
  transient, ///< Failures only.
  temporary  ///< None: a child that ended is forgotten.
};

/// How long a supervisor waits before it restarts a child that fails again and again. The
/// first restart comes at once; the waits after that are first, first * factor, ..., up
/// to `most`. When a child has lived for 10 s, the waits begin anew.
struct Backoff {
  /// The first wait; 0: never wait.
  std::chrono::milliseconds first{100};
  /// The longest wait.
  std::chrono::milliseconds most{10000};
  /// How many times as long each wait is as the one before; at least 1.
  double factor = 2;
  /// The share of a wait, 0 to 1, by which it is longer or shorter at random.
  double jitter = 0.2;
};

/// The options of a Supervisor.
struct SupervisorOptions {
  /// Which children restart together.
  Strategy strategy = Strategy::one_for_one;
  /// Restarts allowed within `period`; one more, and the supervisor gives up.
  int intensity = 5;
  /// The time over which restarts are counted.
  std::chrono::seconds period{10};
  /// The waits before restarts.
  Backoff backoff = {};
};

/// The options of a child: an object of a Supervisor, or an actor (fiber/actor.hpp).
struct SpawnOptions {
  /// The name by which find() finds an object; no other child in the session may have it.
  /// Empty: find() does not find it, and the supervisor makes up a name for logs and
  /// children(). find() does not find actors: their name is for logs, and for the error
  /// that tells of their end.
  std::string name = {};
  /// What its job may use. Objects that ask for less than one cpu, and for neither memory
  /// nor a GPU, share jobs with others of the same supervisor and `restart`, as many as
  /// fit into one cpu. The loss of such a job is one failure, after which all of them
  /// restart together.
  Resources resources = {};
  /// Which ends lead to a restart.
  Restart restart = Restart::permanent;
  /// Whether it has a separate thread. Of the other objects in a job one call runs at a
  /// time; calls that wait for a queue, a lock or anything else of Fiber's do not count.
  bool detached = false;
};

/// What a supervisor knows about one child: see Supervisor::children().
struct ChildInfo {
  /// SpawnOptions::name, or the name that was made up.
  std::string name = {};
  /// The job that it lives in; empty for a supervisor, which has none.
  std::string job = {};
  /// Whether it is up.
  bool alive = false;
  /// Restarts since its first start.
  int restarts = 0;
  /// Why it last ended in failure; empty if it never did.
  std::string last_error = {};
};

} // namespace fiber
