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

/// A program to run for its output.
struct Command {
  std::string program;
  std::vector<std::string> argv;        ///< Includes argv[0].
  std::vector<std::string> environment; ///< The complete environment, NAME=VALUE.
  /// If true, the program gets our stdin and may use the terminal; otherwise it reads
  /// /dev/null and has a process group of its own.
  bool interactive = false;
  std::chrono::milliseconds limit{60000};
  std::size_t output_limit = 1 << 20; ///< The program is killed if it prints more.
  std::function<void(std::string_view)> on_errors; ///< Gets its stderr. May be empty.
};

struct CommandResult {
  int start_error = 0;                             ///< errno if the start failed.
  bool timed_out = false, too_much_output = false; ///< It was killed.
  std::optional<int> exit_code; ///< 0..255, -N for signal N, nothing if unknown.
  std::string output;           ///< stdout.
  std::string errors;           ///< The last 4 KiB of stderr.
};

/// One run of a program, until the program itself ends. Its children are left alone,
/// except at the time limit.
///
/// Thread safety: used on the loop's thread only, or when the loop has stopped.
class ChildProcess : public std::enable_shared_from_this<ChildProcess> {
public:
  using Done = std::function<void(CommandResult)>;

  /// `done` is called once, never before start() returns.
  static std::shared_ptr<ChildProcess> start(Loop& loop, Command command, Done done);
  /// Kills the program if it runs; `done` is then not called.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

private:
  ChildProcess(Loop& loop, Command command, Done done);
  void run();
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
  pid_t pid_ = 0; // 0: not running.
  UniqueFd pidfd_, out_, err_;
  std::optional<Loop::Timer> timer_;
};

} // namespace fiber::backends::kubernetes
