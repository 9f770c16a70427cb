// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <typeinfo>
#include <vector>

#include "fiber/bytes.hpp"

namespace fiber {

/// Everything Fiber throws derives from it. One class for each reaction a caller may
/// have; docs/errors.md says which.
class Error : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// What a task left behind when it threw: enough to describe the exception and, where its
/// type allows, to throw it again.
struct Failure {
  std::string type; ///< Demangled name of the exception's type; empty if it has none.
  std::string
    what; ///< what(), or a description of an exception that is no std::exception.
  std::string
    name;      ///< Mangled name of the type that `state` rebuilds; empty if none does.
  Bytes state; ///< What rebuilds the original.
};

/// A task threw, or the call of an object. The worker lives on and a task is not run
/// again, unless PoolOptions::retry_exceptions says so.
class RemoteError : public Error {
public:
  /// `what` is what `index` counts.
  RemoteError(Failure failure, std::size_t index, int attempt, std::string job,
              const std::string& what = "task");
  /// Of the call of an object.
  explicit RemoteError(Failure failure);
  /// Demangled name of the type that was thrown, e.g. "std::out_of_range".
  const std::string& type() const { return failure_->type; }
  /// Which task of its call, from 0; of a ring the rank.
  std::size_t index() const { return index_; }
  /// Which run of the task threw, from 1.
  int attempt() const { return attempt_; }
  /// The job it ran in.
  const std::string& job() const { return job_; }
  /// Throws what the task threw: exceptions of the standard library, and any type `E`
  /// that some line of the program names as rethrow_original<E>() (see below). Anything
  /// else: *this.
  [[noreturn]] void rethrow_original() const;
  /// The same, and makes `E` a type that can be thrown again: `E` must be a value as in
  /// fiber/value.hpp. Needs #include <fiber/remote_error.hpp>.
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
  std::string log = {}; ///< The last lines that it wrote.
  std::shared_ptr<const detail::StackText> stack = nullptr; ///< Null: not known.
};

/// A task lost its worker more often than PoolOptions::max_retries allows, a ring its
/// members more often than RingOptions::max_restarts does, or the job of an object was
/// lost while it was called.
class WorkerLost : public Error {
public:
  WorkerLost(std::size_t index, int attempts, std::vector<int> exits, std::string reason,
             LastWords last = {});
  /// Of the call of an object, which may have run.
  WorkerLost(const std::string& text, int exit, std::string reason, LastWords last);
  /// Of a ring: `index` is the rank that was lost last.
  WorkerLost(const std::string& text, std::size_t index, std::vector<int> exits,
             std::string reason, LastWords last);
  /// One sentence; where the stack is known, its first frames follow, a line each.
  const char* what() const noexcept override;
  /// Which task of its call, from 0; of a ring the rank.
  std::size_t index() const { return index_; }
  /// How many times it was run.
  int attempts() const { return attempts_; }
  static constexpr int exit_unknown = 256;
  /// How each worker ended: an exit code, -N for signal N, or exit_unknown.
  const std::vector<int>& exits() const { return exits_; }
  /// The last end in words: "killed by SIGSEGV (null pointer)", "OOMKilled, limit 512
  /// MB".
  const std::string& reason() const { return reason_; }
  /// Where the task was when its last worker crashed, the innermost call first, one a
  /// line: "simulate(int) at sim.cpp:12". Empty if that is not known, as after SIGKILL.
  /// The first call looks the names up, which may take a while.
  const std::string& stack() const;
  /// The last lines that its last worker wrote to stdout, stderr and its log, at most 20
  /// lines and 4 kB.
  const std::string& last_log() const { return last_.log; }
  const LastWords& last_words() const { return last_; }

private:
  std::size_t index_;
  int attempts_;
  std::vector<int> exits_;
  std::string reason_;
  LastWords last_;
};

/// A time limit passed.
class TimeoutError : public Error {
public:
  using Error::Error;
};

/// The task was cancelled, before it ran or while it did, or its pool was ended.
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

/// An engine (local processes, a container engine, a cluster) refused or failed.
class BackendError : public Error {
public:
  BackendError(std::string operation, int status, std::string detail);
  /// What was asked of it: "start workers".
  const std::string& operation() const { return operation_; }
  /// errno or HTTP status; 0 if there is none.
  int status() const { return status_; }
  /// The engine's own words.
  const std::string& detail() const { return detail_; }

private:
  std::string operation_;
  int status_;
  std::string detail_;
};

/// A setting or option can't be used. what() names all three.
class ConfigError : public Error {
public:
  ConfigError(std::string key, std::string place, std::string valid,
              const std::string& problem);
  /// The key or option: "heartbeat_timeout".
  const std::string& key() const { return key_; }
  /// Where it stands: "environment FIBER_LEASE", ".fiberconfig:3", "PoolOptions".
  const std::string& place() const { return place_; }
  /// What would be right.
  const std::string& valid() const { return valid_; }

private:
  std::string key_;
  std::string place_;
  std::string valid_;
};

} // namespace fiber
