// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <typeinfo>
#include <vector>

#include "fiber/bytes.hpp"

namespace fiber {

/// The base of everything that Fiber throws. There is one class for each reaction that a
/// caller may have: docs/reference/errors.md lists them. Copies of an error may be used
/// by different threads.
class Error : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// An exception of a task, in a form that travels: a description and, if its type allows
/// it, what is needed to throw it and its causes (std::throw_with_nested) again.
struct Failure {
  /// The demangled name of the exception's type; empty if it has none.
  std::string type;
  /// what(), or a description of an exception that is no std::exception; then the causes.
  std::string what;
  /// Identifies the type that `state` holds; empty if it holds none.
  std::string name;
  /// The packed exception.
  Bytes state;
};

/// A task threw, or a call of an object. The worker lives on. The task is not retried
/// unless PoolOptions::retry_exceptions says so.
class RemoteError : public Error {
public:
  /// For Fiber's use. `what` is what `index` counts.
  RemoteError(Failure failure, std::size_t index, int attempt, std::string job,
              const std::string& what = "task");
  /// For the call of an object.
  explicit RemoteError(Failure failure);
  /// The demangled name of the type that was thrown: "std::out_of_range".
  const std::string& type() const { return failure_->type; }
  /// What the exception said, byte for byte. what() contains it with the control
  /// characters escaped, since a terminal would obey them.
  const std::string& message() const { return failure_->what; }
  /// Which task of its call threw, from 0; the rank in a ring.
  std::size_t index() const { return index_; }
  /// Which run of the task threw, from 1.
  int attempt() const { return attempt_; }
  /// The name of the job that it ran in.
  const std::string& job() const { return job_; }
  /// Throws what the task threw, with its causes (std::throw_with_nested), if that is an
  /// exception of the standard library or of a type `E` for which the program calls
  /// rethrow_original<E>() somewhere (see below); else throws *this. A cause of another
  /// type is a RemoteError then. A std::system_error with a category of the program's own
  /// can't be thrown again.
  [[noreturn]] void rethrow_original() const;
  /// The same, and makes `E` a type that can be thrown again: `E` must be a value
  /// (fiber/value.hpp). Needs #include <fiber/remote_error.hpp>.
  template <class... E>
    requires(sizeof...(E) > 0)
  [[noreturn]] void rethrow_original() const;

private:
  std::shared_ptr<const Failure> failure_;
  std::size_t index_;
  int attempt_;
  std::string job_;
};

namespace detail {
class StackText;
}

/// What a lost worker left behind.
struct LastWords {
  /// The last lines that it wrote.
  std::string log = {};
  /// Where it crashed; null if that is not known.
  std::shared_ptr<const detail::StackText> stack = nullptr;
};

/// A task lost its worker more often than PoolOptions::max_retries allows, a ring its
/// members more often than RingOptions::max_restarts does, or an object lost its job
/// during a call.
class WorkerLost : public Error {
public:
  /// For Fiber's use: a task.
  WorkerLost(std::size_t index, int attempts, std::vector<std::optional<int>> exits,
             std::string reason, LastWords last = {});
  /// The call of an object, which may have run.
  WorkerLost(const std::string& text, std::optional<int> exit, std::string reason,
             LastWords last);
  /// A ring; `index` is the rank that was lost last.
  WorkerLost(const std::string& text, std::size_t index,
             std::vector<std::optional<int>> exits, std::string reason, LastWords last);
  /// One sentence; if the stack is known, its first frames follow, one a line.
  const char* what() const noexcept override;
  /// Which task of its call, from 0; the rank in a ring.
  std::size_t index() const { return index_; }
  /// How many times it ran.
  int attempts() const { return attempts_; }
  /// How each worker ended: an exit code, -N for signal N, or nothing if the exit code is
  /// unknown.
  const std::vector<std::optional<int>>& exits() const { return exits_; }
  /// The last end in words: "killed by SIGSEGV (null pointer)", "OOMKilled, limit 512
  /// MiB".
  const std::string& reason() const { return reason_; }
  /// The calls that the task was in when its last worker crashed, the innermost first,
  /// one a line: "simulate(int) at sim.cpp:12". Empty if that is not known, as after
  /// SIGKILL. The first call of this function looks the names up, which may take a while.
  const std::string& stack() const;
  /// The last lines that its last worker wrote to stdout, stderr and its log: at most 20
  /// lines and 4 kB.
  const std::string& last_log() const { return last_.log; }
  /// The log and the stack of its last worker.
  const LastWords& last_words() const { return last_; }

private:
  std::size_t index_;
  int attempts_;
  std::vector<std::optional<int>> exits_;
  std::string reason_;
  LastWords last_;
};

/// A time limit passed: a task_timeout, start_deadline or queue_deadline.
class TimeoutError : public Error {
public:
  using Error::Error;
};

/// The task was cancelled, before or while it ran, or its pool was ended.
class Cancelled : public Error {
public:
  using Error::Error;
};

/// The object, or the session behind it, takes no more calls.
class Closed : public Error {
public:
  using Error::Error;
};

/// A job runs another build than the driver.
class VersionMismatch : public Error {
public:
  using Error::Error;
};

/// A backend's engine (local processes, a container engine, a cluster) refused or failed.
class BackendError : public Error {
public:
  BackendError(std::string operation, int status, std::string detail);
  /// What the engine was asked to do: "start workers".
  const std::string& operation() const { return operation_; }
  /// The errno or HTTP status; 0 if there is none.
  int status() const { return status_; }
  /// The engine's own words.
  const std::string& detail() const { return detail_; }

private:
  std::string operation_;
  int status_;
  std::string detail_;
};

/// A setting or an option can't be used. what() names the key, the place and the valid
/// values.
class ConfigError : public Error {
public:
  ConfigError(std::string key, std::string place, std::string valid,
              const std::string& problem);
  /// The setting or option: "heartbeat_timeout".
  const std::string& key() const { return key_; }
  /// Where its value is from: "environment FIBER_LEASE", ".fiberconfig:3", "PoolOptions".
  const std::string& place() const { return place_; }
  /// The valid values.
  const std::string& valid() const { return valid_; }

private:
  std::string key_;
  std::string place_;
  std::string valid_;
};

} // namespace fiber
