// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <concepts>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "fiber/callable.hpp"
#include "fiber/future.hpp"
#include "fiber/results.hpp"
#include "fiber/value.hpp"

namespace fiber {

/// Everything a Process can be told.
struct ProcessOptions {
  std::string name = {};    ///< For people; empty: "Process-1", "Process-2", ...
  Resources resources = {}; ///< Of its job.
  std::string image = {};   ///< Where the backend has images; empty: the session's.
  bool daemon = false;      ///< The end of the session ends it instead of waiting for it.
};

namespace detail {

class ProcessCore;

/// A process's function as the job runs it: gives the code to exit with.
template <class F>
class ExitCode {
public:
  explicit ExitCode(F f) : f_(std::move(f)) {}

  template <class... Args>
    requires std::is_invocable_v<F&, Args...>
  int operator()(Args&&... args) {
    using R = std::decay_t<std::invoke_result_t<F&, Args...>>;
    if constexpr (std::is_same_v<R, int>) {
      return std::invoke(f_, std::forward<Args>(args)...);
    } else {
      static_cast<void>(std::invoke(f_, std::forward<Args>(args)...));
      return 0;
    }
  }

  const Resources& resources() const
    requires Measured<F>
  {
    return f_.resources();
  }
  void fiber_pack(Writer& writer) const { pack_callable(writer, f_); }
  static ExitCode fiber_unpack(Reader& reader) {
    return ExitCode(unpack_callable<F>(reader));
  }

private:
  F f_;
};

/// One call, packed.
struct PackedCall {
  AnyCallable callable;
  Payload arguments;
  KeptObjects kept = {}; ///< What packed handles refer to.

  template <class F, class... Args>
  static PackedCall of(const F& f, Args&&... args) {
    using Tuple = std::tuple<value_t<Args>...>;
    (check_value<value_t<Args>>(), ...);
    PackedCall call{AnyCallable::of<Tuple, true>(f), {}};
    KeepScope scope;
    Bytes bytes;
    Writer writer(bytes);
    pack<Tuple>(writer, Tuple(std::forward<Args>(args)...));
    call.arguments = Payload(std::move(bytes));
    call.kept = scope.take();
    return call;
  }
};

/// Starts a process whose result is a call's. Throws Closed without a session.
std::shared_ptr<Results> run_async(PackedCall call);

} // namespace detail

/// A function that runs in a process of its own, as Python's multiprocessing.Process: a
/// job that runs f(args...) once and exits with 0, or with the int that f returns (its
/// lowest 8 bits). An exception that f lets out is told on the job's stderr, and the job
/// exits with 1. It may have started when its job is lost, so it is never run again.
///
/// This is a handle: copies stand for the same process, which goes on when all of them
/// are gone. The end of the Session waits for it, unless it is a daemon. The callable and
/// its arguments are what Pool takes; they are packed when the Process is made.
///
/// On an inline session f runs within start().
///
/// Thread safety: any thread may call any member function. All but name() throw Closed
/// after the end of the session.
class Process {
public:
  /// Names the process; nothing runs yet. Throws Closed without a session, ConfigError on
  /// options that can't be used, and what packing throws.
  template <class F, class... Args>
    requires detail::Takes<F, detail::value_t<Args>...>
  explicit Process(F f, Args&&... args)
    : Process(ProcessOptions{}, std::move(f), std::forward<Args>(args)...) {}
  template <class F, class... Args>
    requires detail::Takes<F, detail::value_t<Args>...>
  Process(ProcessOptions options, F f, Args&&... args)
    : Process(std::move(options), pack(std::move(f), std::forward<Args>(args)...)) {}

  /// Asks for the job and returns: on a cluster it may take its time. Only once, else
  /// throws Error.
  void start();
  /// Waits until the process has ended. Throws why, if it could not be started
  /// (BackendError, TimeoutError, VersionMismatch); Error before start().
  void join();
  /// The same for at most `d`; true if it has ended.
  template <class Rep, class Period>
  bool join(std::chrono::duration<Rep, Period> d) {
    return join_until(detail::limit_of(d));
  }
  /// Ends it by SIGTERM, which f may catch; after 10 s by SIGKILL. On an inline session f
  /// is told by this_task::stop_token(). No effect on one that has ended; throws Error
  /// before start(), as kill() does.
  void terminate();
  /// Ends it by SIGKILL. Throws Error on an inline session.
  void kill();
  /// Whether it was started and has not ended.
  bool is_alive() const;
  /// How it ended: 0 to 255, -N for signal N, and 255 if nobody can tell. Nothing as long
  /// as it has not. Throws as join() if it could not be started.
  std::optional<int> exit_code() const;
  std::string name() const;
  /// What the backend calls its job, once there is one, for which it waits; empty before
  /// start().
  std::string job_id() const;
  /// Its process id as the process itself sees it. Waits until it runs; 0 if it never
  /// will, and before start().
  int pid() const;
  /// The last 1 MiB that it wrote to stdout and stderr, while it runs and after. Empty on
  /// an inline session, whose output is the program's own.
  std::string logs() const;

  /// Whether both stand for the same process.
  bool operator==(const Process&) const = default;

private:
  friend std::vector<Process> active_children();

  Process(ProcessOptions options, detail::PackedCall call);
  explicit Process(std::shared_ptr<detail::ProcessCore> core);
  bool join_until(detail::Results::Clock::time_point limit);

  template <class F, class... Args>
  static detail::PackedCall pack(F f, Args&&... args) {
    detail::check_callable<F>();
    return detail::PackedCall::of(detail::ExitCode<F>(std::move(f)),
                                  std::forward<Args>(args)...);
  }

  std::shared_ptr<detail::ProcessCore> core_;
};

/// Runs f(args...) in a process of its own; the Future has its result, or RemoteError
/// with what it threw, or WorkerLost if the process was lost, as it is never run again.
/// The end of the session ends it. Future::cancel() ends the process 2 s after it told f
/// to stop.
template <class F, class... Args>
  requires detail::Takes<F, detail::value_t<Args>...>
Future<call_result_t<F, Args...>> async(F f, Args&&... args) {
  using R = call_result_t<F, Args...>;
  detail::check_callable<F>();
  detail::check_result<R>();
  return Future<R>(
    detail::run_async(detail::PackedCall::of(f, std::forward<Args>(args)...)));
}

/// The processes of this session, those of async() as well, that run. Throws Closed
/// without a session.
std::vector<Process> active_children();

} // namespace fiber
