// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

namespace fiber::e2e {

/// A driver of its own, so that a test can stop or kill it: fault_driver, see driver.cpp.
class Driver {
public:
  /// Starts the program: "work" maps 0 .. 199, each noted in "runs" as it starts and its
  /// wall clock in "clock", and notes in "driver" what came of it;
  /// "resume" does so by imap with a journal, and notes each result in "seen"; "hold"
  /// keeps four workers busy, each with a child of its own, for good. `settings` are
  /// added to this environment.
  explicit Driver(const std::string& program,
                  const std::vector<std::string>& settings = {});
  /// Kills it if it still runs.
  ~Driver();
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  pid_t pid() const { return pid_; }
  /// Its exit code, -N for signal N; waits for it. 256 after the deadline.
  int wait();

private:
  pid_t pid_ = 0;
};

} // namespace fiber::e2e
