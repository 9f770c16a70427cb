// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "backends/engine/loop.hpp"
#include "backends/ssh/program_copy.hpp"
#include "backends/ssh/program_file.hpp"
#include "backends/ssh/ssh_command.hpp"

namespace fiber::backends::ssh {

/// Answers what a host asks before it starts the program, and copies the program if it is
/// not there. The connection runs start_command() or stand_by_command(). Used on the
/// loop's thread only.
class ProgramStart {
public:
  struct Handler {
    std::function<void(std::string_view)> say; ///< Writes to the host's stdin.
    /// The program is on the host, at this path.
    std::function<void(const std::string& path)> ready;
    /// It can't be started there. May destroy this object.
    std::function<void(const std::string& problem)> failed;
  };

  ProgramStart(Loop& loop, const SshCommand& command, std::string host,
               const ProgramFile& program, std::string number, Handler handler);
  ~ProgramStart();
  ProgramStart(const ProgramStart&) = delete;
  ProgramStart& operator=(const ProgramStart&) = delete;

  /// Takes a line that the host has printed.
  void take(const std::string& line);
  /// Returns why the program did not start, if ssh has ended with `exit_code` after it
  /// wrote `errors` to stderr.
  std::string problem_of_end(const std::string& errors,
                             std::optional<int> exit_code) const;

private:
  void copy_program();
  void expect_answer();
  void stop_clock();
  void fail(const std::string& problem);

  Loop& loop_;
  const SshCommand& command_;
  const std::string host_;
  const ProgramFile& program_;
  const std::string number_; // Tells our lines from what the user's start files print.
  const Handler handler_;
  /// How far it has come. `asked`: the host looks for the program at its own path.
  enum class Stage { silent, shell, asked, ready } stage_ = Stage::silent;
  std::shared_ptr<ProgramCopy> copy_;
  std::optional<Loop::Timer> clock_; // For the next line, until the object is destroyed.
};

} // namespace fiber::backends::ssh
