// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/engine/loop.hpp"
#include "base/unique_fd.hpp"

namespace fiber::backends {

/// A program to run for its output.
struct ChildCommand {
  std::string program;                  ///< A path, or a name that is looked up in $PATH.
  std::vector<std::string> argv;        ///< Includes argv[0].
  std::vector<std::string> environment; ///< The complete environment, NAME=VALUE.
  /// If true, the program may use the terminal, and gets our stdin if `input` is empty.
  /// Otherwise it has a process group of its own.
  bool interactive = false;
  std::string input;                      ///< For its stdin; empty: it reads /dev/null.
  std::string input_file;                 ///< The same from a file, if `input` is empty.
  std::chrono::milliseconds limit{60000}; ///< 0: none.
  std::size_t output_limit = 1 << 20;     ///< The program is killed if it prints more.
  std::function<void(std::string_view)> on_errors; ///< Gets its stderr. May be empty.
};

/// Returns a command with this process's environment.
ChildCommand command_of(std::vector<std::string> words, std::chrono::milliseconds limit);

struct ChildResult {
  int start_error = 0;                             ///< errno if the start failed.
  bool timed_out = false, too_much_output = false; ///< It was killed.
  std::optional<int> exit_code; ///< 0..255, -N for signal N, nothing if unknown.
  std::string output;           ///< stdout.
  std::string errors;           ///< The last 4 KiB of stderr.
};

/// Returns how a program failed in words, without what it wrote to stderr; empty if it
/// did not.
std::string failure(const ChildResult& result, std::chrono::milliseconds limit);

/// Returns this process's environment, NAME=VALUE, with variables added or replaced.
std::vector<std::string>
environment_with(const std::map<std::string, std::string>& variables);

/// One run of a program, until the program itself ends. Its children are left alone,
/// except at the time limit.
///
/// Thread safety: used on the loop's thread only, or when the loop has stopped.
class ChildProcess : public std::enable_shared_from_this<ChildProcess> {
public:
  using Done = std::function<void(ChildResult)>;

  /// `done` is called once, never before start() returns.
  static std::shared_ptr<ChildProcess> start(Loop& loop, ChildCommand command, Done done);
  /// Kills the program if it runs; `done` is then not called.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

private:
  ChildProcess(Loop& loop, ChildCommand command, Done done);
  void run();
  int spawn();
  void watch(UniqueFd& pipe, void (ChildProcess::*read)());
  void read_output();
  void read_errors();
  void kill();
  void reap();
  void stop_watching();
  void finish();

  Loop& loop_;
  ChildCommand command_;
  Done done_;
  ChildResult result_;
  pid_t pid_ = 0; // 0: not running.
  UniqueFd pidfd_, out_, err_;
  std::optional<Loop::Timer> timer_;
};

/// Runs a program and waits for its end, on a loop of its own.
ChildResult run_child(ChildCommand command);

} // namespace fiber::backends
