// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/engine/child_process.hpp"
#include "backends/engine/loop.hpp"

namespace fiber::backends::slurm {

/// How a run of one of Slurm's commands ended.
struct CommandResult {
  std::optional<int> exit_code = {}; ///< 0..255, -N for signal N, nothing if unknown.
  bool timed_out = false;            ///< It was killed.
  std::string output = {};           ///< stdout.
  std::string errors = {};           ///< The end of stderr.

  bool ok() const { return exit_code == 0 && !timed_out; }
  /// Returns whether the controller did not answer, so that the request may or may not
  /// have been carried out.
  bool unanswered() const;
  /// Returns Slurm's own words, or why there are none.
  std::string problem() const;
};

/// Runs Slurm's commands, each with a time limit of its own: while the controller is
/// away they block for 9 to 18 s.
///
/// Thread safety: run() and close() on the loop's thread only; call() on any other.
class Commands {
public:
  using Done = std::function<void(const CommandResult&)>;
  static constexpr std::chrono::milliseconds usual_limit{30000};

  /// `environment` is the complete environment of the commands, NAME=VALUE.
  Commands(Loop& loop, std::vector<std::string> environment);
  ~Commands();
  Commands(const Commands&) = delete;
  Commands& operator=(const Commands&) = delete;

  /// Starts a command, which is searched for in $PATH, and calls `done` at its end.
  /// `added` are variables besides the environment, `input` is what it reads from stdin.
  /// Never throws: a command that can't be started ends with the reason in `errors`.
  void run(std::vector<std::string> words, Done done,
           const std::map<std::string, std::string>& added = {}, std::string input = {});
  /// Runs a command and waits for its end.
  CommandResult call(std::vector<std::string> words);
  /// Kills the commands that run; their `done` is not called.
  void close();
  /// Returns how many commands were started.
  std::size_t count() const { return count_; }

private:
  Loop& loop_;
  const std::vector<std::string> environment_;
  std::map<std::size_t, std::shared_ptr<ChildProcess>> runs_; // By their number.
  std::size_t count_ = 0;
};

/// Runs a command without a loop of the caller's and waits for its end. `added` are
/// variables besides clean_environment().
CommandResult run_command(const std::vector<std::string>& words,
                          const std::map<std::string, std::string>& added = {});

/// Returns this process's environment without what Slurm has set in an allocation or
/// what the user has set as defaults for Slurm's commands, and without the settings that
/// only the driver may have (is_for_driver_only()). Kept are the variables that
/// say which cluster it is, such as SLURM_CONF.
std::vector<std::string> clean_environment();
/// The same for a given environment.
std::vector<std::string> clean_environment(const std::vector<std::string>& environment);

} // namespace fiber::backends::slurm
