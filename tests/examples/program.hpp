// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

/// The pids in a progress line of a training program; none in any other line.
std::vector<pid_t> workers_in(const std::string& line);

/// A program under test, started with its output on a pipe. Killed with this object.
class Program {
public:
  /// `leads`: it leads a process group, as what a shell starts in a terminal does.
  explicit Program(std::vector<std::string> command, bool leads = false);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  /// It waits in its next print when a page of it is unread, instead of 64 kB.
  void limit_unread();

  /// The next line of its stdout and stderr; nothing when all that held them are gone.
  std::optional<std::string> line();

  /// Reads lines until `is_it` has held for `times` of them. False when its output ends
  /// before that.
  bool read_until(std::uint64_t times,
                  const std::function<bool(const std::string&)>& is_it);

  /// All that is left of its output.
  std::string rest();

  /// All that was read of its output.
  const std::string& output() const { return output_; }

  pid_t pid() const { return pid_; }
  void kill(int signal);
  /// As a terminal does it. For one that leads its process group.
  void kill_group(int signal);

  /// Without waiting. Then wait() says how.
  bool has_ended() const;

  /// Its exit code, or -N if signal N ended it.
  int wait();

private:
  pid_t pid_ = -1;
  int pipe_ = -1;
  std::string output_;
  std::string pending_;
};
