// SPDX-License-Identifier: Apache-2.0
#include "backends/local/parent_death.hpp"

#include <sys/prctl.h>
#include <unistd.h>

#include <atomic>
#include <csignal>

namespace fiber::backends::local {

namespace {

// Global, for the signal handler.
std::atomic<pid_t> own_pid = 0, parent_pid = 0;

/// Kills this process if its parent has died. Also runs when a stopped process is
/// continued, and in forked children, where it does nothing.
void on_continued(int) {
  if (::getpid() != own_pid || ::getppid() == parent_pid)
    return;
  if (::getpgrp() == own_pid)
    ::kill(0, SIGKILL);
  ::kill(own_pid, SIGKILL);
}

} // namespace

// Uses SIGCONT: SIGKILL would leave the children of this process, and any other signal
// would stay pending while this process is stopped.
bool end_with_parent(pid_t parent) {
  own_pid = ::getpid();
  parent_pid = parent;
  struct sigaction action {};
  ::sigaction(SIGCONT, nullptr, &action);
  if (action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN) {
    action = {};
    action.sa_handler = on_continued;
    action.sa_flags = SA_RESTART;
    ::sigaction(SIGCONT, &action, nullptr);
  }
  ::prctl(PR_SET_PDEATHSIG, SIGCONT);
  return ::getppid() == parent;
}

} // namespace fiber::backends::local
