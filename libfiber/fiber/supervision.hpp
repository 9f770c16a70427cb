// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>

#include "fiber/callable.hpp"

namespace fiber {

/// Which children start again when one of them ends and is to be restarted. Those that
/// run are stopped first, in reverse order of their start; then all start in order.
enum class Strategy {
  one_for_one, ///< That child alone.
  one_for_all, ///< All of them.
  rest_for_one ///< That child and those started after it.
};

/// When a child that ended starts again.
enum class Restart {
  permanent, ///< Always, a normal end included.
  transient, ///< After a failure only.
  temporary  ///< Never; once down it is forgotten.
};

/// How long to wait before a child that fails again and again is started once more. The
/// first restart comes at once; the waits after that are first, first * factor, ... up to
/// `most`, each drawn from +- jitter. A child that then lives for 10 s starts over.
struct Backoff {
  std::chrono::milliseconds first{100};  ///< The first wait; 0: never wait.
  std::chrono::milliseconds most{10000}; ///< No wait is longer than this.
  double factor = 2;                     ///< Each wait is this much longer; at least 1.
  double jitter = 0.2; ///< Share of a wait, 0 to 1, by which it varies at random.
};

/// How a supervisor keeps its children alive.
struct SupervisorOptions {
  Strategy strategy = Strategy::one_for_one;
  int intensity = 5; ///< Restarts allowed within `period`; one more, and it gives up.
  std::chrono::seconds period{10};
  Backoff backoff = {};
};

/// How something that lives in a job is kept alive: an object of a Supervisor, an actor.
struct SpawnOptions {
  /// What find() knows an object by: no other child of the session may have it. Empty:
  /// nobody finds it, and the supervisor makes a name up for what it shows. Of an actor:
  /// what logs call its job, and an error that tells of its end the actor; find() knows
  /// none.
  std::string name = {};
  /// Of its job. Objects that ask for less than one cpu, and for neither memory nor a
  /// GPU, share jobs with others of the same supervisor and `restart`, as many as fit
  /// into one cpu; the loss of such a job is one failure, after which all start again
  /// together.
  Resources resources = {};
  Restart restart = Restart::permanent;
  /// It has a thread of its own. Else of the objects that share a job one call runs at a
  /// time; those that wait for something of Fiber's do not count.
  bool detached = false;
};

/// What a supervisor knows of one child.
struct ChildInfo {
  std::string name = {};
  std::string job = {}; ///< The job it lives in; empty if it has none of its own.
  bool alive = false;
  int restarts = 0;            ///< Since it was first started.
  std::string last_error = {}; ///< Why it last ended in failure; empty if it never did.
};

} // namespace fiber
