// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/engine/loop.hpp"
#include "base/unique_fd.hpp"

namespace fiber::backends::kubernetes {

/// A program to be run for its output.
struct Command {
  std::string program;
  std::vector<std::string> argv;        ///< With its own name.
  std::vector<std::string> environment; ///< All of it, NAME=VALUE.
  /// It gets our stdin and may use the terminal; otherwise it reads /dev/null, in a
  /// process group of its own.
  bool interactive = false;
  std::chrono::milliseconds limit{60000};
  std::size_t output_limit = 1 << 20; ///< It is killed if it prints more.
  std::function<void(std::string_view)>
    on_errors; ///< What it says on stderr. May be empty.
};

struct CommandResult {
  int start_error = 0;                             ///< errno if it could not be started.
  bool timed_out = false, too_much_output = false; ///< Either way it was killed.
  std::optional<int> exit_code; ///< 0..255, -N for signal N, nothing if unknown.
  std::string output;           ///< stdout.
  std::string errors;           ///< The last 4 KiB of stderr.
};

/// One run of a program. The end is when the program itself ends; what it may have
/// started is left alone, unless its time is over.
///
/// Thread safety: on the loop's thread only, or when the loop has stopped.
class ChildProcess : public std::enable_shared_from_this<ChildProcess> {
public:
  using Done = std::function<void(CommandResult)>;

  /// `done` is called once, never before start() returns.
  static std::shared_ptr<ChildProcess> start(Loop& loop, Command command, Done done);
  /// Kills what still runs; `done` is not called then.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

private:
  ChildProcess(Loop& loop, Command command, Done done);
  void run();
  int spawn(int out, int err);
  void watch(UniqueFd& pipe, void (ChildProcess::*read)());
  void read_output();
  void read_errors();
  void kill();
  void reap();
  void stop_watching();
  void finish();

  Loop& loop_;
  Command command_;
  Done done_;
  CommandResult result_;
  pid_t pid_ = 0; // 0: not there (any more).
  UniqueFd pidfd_, out_, err_;
  std::optional<Loop::Timer> timer_;
};

} // namespace fiber::backends::kubernetes
