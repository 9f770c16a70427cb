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
#include "fiber/detail/results.hpp"
#include "fiber/future.hpp"
#include "fiber/value.hpp"

namespace fiber {

/// The options of a Process.
struct ProcessOptions {
  /// A name for people; empty: "Process-1", "Process-2", ...
  std::string name = {};
  /// What its job may use.
  Resources resources = {};
  /// The image it runs in, on backends that have images; empty: the session's.
  std::string image = {};
  /// Whether the end of the session ends it instead of waiting for it.
  bool daemon = false;
};

namespace detail {

class ProcessCore;

/// A process's function as its job runs it: returns the exit code.
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
  /// What packed handles refer to.
  KeptObjects kept = {};

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

/// Starts a process whose result is that of the call. Throws Closed without a session.
std::shared_ptr<Results> run_async(PackedCall call);

} // namespace detail

/// A function in a separate process, as Python's multiprocessing.Process: a job that
/// runs f(args...) once. Its exit code is 0, or the lowest 8 bits of the int that `f`
/// returns; an exception that `f` lets out is printed on the job's stderr, and the exit
/// code is 1. A process is never retried, since it may have started when its job is lost.
///
/// A Process is a handle: copies stand for the same process, which continues when all of
/// them are gone. The end of the Session waits for it, unless it is a daemon. The
/// callable and its arguments are what Pool takes; they are packed when the Process is
/// made.
///
/// On an inline session `f` runs within start().
///
/// Thread safety: any thread may call any member function. All but name() throw Closed
/// after the end of the session.
class Process {
public:
  /// Names the process; nothing runs yet. Throws Closed without a session, ConfigError
  /// for options that can't be used, and what packing throws.
  template <class F, class... Args>
    requires detail::Takes<F, detail::value_t<Args>...>
  explicit Process(F f, Args&&... args)
    : Process(ProcessOptions{}, std::move(f), std::forward<Args>(args)...) {}
  template <class F, class... Args>
    requires detail::Takes<F, detail::value_t<Args>...>
  Process(ProcessOptions options, F f, Args&&... args)
    : Process(std::move(options), pack(std::move(f), std::forward<Args>(args)...)) {}

  /// Asks for the job and returns; on a cluster the job may take its time. Throws Error
  /// when called a second time.
  void start();
  /// Blocks until the process has ended. Throws Error before start(), and BackendError,
  /// TimeoutError or VersionMismatch if the process could not be started.
  void join();
  /// The same for at most `d`; returns whether the process has ended.
  template <class Rep, class Period>
  bool join(std::chrono::duration<Rep, Period> d) {
    return join_until(detail::limit_of(d));
  }
  /// Sends SIGTERM, which `f` may catch, and SIGKILL after 10 s; returns at once. On an
  /// inline session this_task::stop_token() tells `f`. Has no effect on a process that
  /// has ended. Throws Error before start(), as kill() does.
  void terminate();
  /// Sends SIGKILL and returns at once. Throws Error on an inline session.
  void kill();
  /// Whether the process was started and has not ended.
  bool is_alive() const;
  /// How the process ended: 0 to 255, or -N for signal N. Nothing while the process runs;
  /// and nothing after its end if the code is unknown: then is_alive() is false. Throws
  /// as join() if the process could not be started.
  std::optional<int> exit_code() const;
  /// ProcessOptions::name, or the name that was made up.
  std::string name() const;
  /// What the backend calls the job. Blocks until there is one; empty before start().
  std::string job_id() const;
  /// The process id that the process itself sees. Blocks until it runs; 0 if it never
  /// will, and before start().
  int pid() const;
  /// The last 1 MiB that the process wrote to stdout and stderr, while it runs and after
  /// its end. Empty on an inline session, whose output is the program's own.
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

/// Runs f(args...) in a separate process and returns at once. The Future has the
/// result, RemoteError with what `f` threw, or WorkerLost if the process was lost, since
/// it is never retried. The end of the session ends the process. Future::cancel() tells
/// `f` to stop, and ends the process 2 s later.
template <class F, class... Args>
  requires detail::Takes<F, detail::value_t<Args>...>
Future<call_result_t<F, Args...>> async(F f, Args&&... args) {
  using R = call_result_t<F, Args...>;
  detail::check_callable<F>();
  detail::check_result<R>();
  return Future<R>(
    detail::run_async(detail::PackedCall::of(f, std::forward<Args>(args)...)));
}

/// The processes of this session that run, those of async() included. Throws Closed
/// without a session.
std::vector<Process> active_children();

} // namespace fiber
