// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <csignal>

#include "base/unique_fd.hpp"

namespace fiber::cli {

/// Receives this process's SIGINT and SIGTERM as events while it lives. Create it before
/// other threads, since it blocks both signals.
class Interrupts {
public:
  Interrupts();
  /// Restores the signals.
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

  /// A signal that has come.
  struct Signal {
    int number = 0;
    bool from_terminal = false; ///< The whole foreground group got it.
  };

  /// Can be polled for reading.
  int fd() const { return fd_.get(); }
  /// Returns the next signal; number 0 if none has come.
  Signal take();
  /// The signals that were blocked before, which child processes should have.
  const sigset_t& before() const { return before_; }

private:
  sigset_t before_{};
  UniqueFd fd_;
};

} // namespace fiber::cli
