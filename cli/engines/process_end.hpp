// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "base/unique_fd.hpp"

namespace fiber::cli {

/// A process of this machine that may be waited for and signalled. The kernel does not
/// take another process with the same pid for it.
class Process {
public:
  /// Returns nothing if there is no such process.
  static std::optional<Process> open(pid_t pid);

  pid_t pid() const { return pid_; }
  /// Returns false if `limit` passed first.
  bool await_end(std::chrono::milliseconds limit) const;
  bool has_ended() const { return await_end(std::chrono::milliseconds(0)); }
  /// Throws Error if it may not be signalled. No effect if it has ended.
  void send(int signal) const;

private:
  Process(pid_t pid, UniqueFd fd) : pid_(pid), fd_(std::move(fd)) {}
  pid_t pid_;
  UniqueFd fd_;
};

/// Returns the processes that `pid` has started, and those started by them.
std::vector<Process> descendants_of(pid_t pid);

} // namespace fiber::cli
