// SPDX-License-Identifier: Apache-2.0
#include "backends/local/parent_death.hpp"

#include <sys/prctl.h>
#include <unistd.h>

#include <atomic>
#include <csignal>

namespace fiber::backends::local {

namespace {

// All that a signal handler can be told.
std::atomic<pid_t> own_pid = 0, parent_pid = 0;

/// Also called when somebody continues a process that was stopped, and in what this
/// process has forked, which is none of its business.
void on_continued(int) {
  if (::getpid() != own_pid || ::getppid() == parent_pid)
    return;
  if (::getpgrp() == own_pid)
    ::kill(0, SIGKILL);
  ::kill(own_pid, SIGKILL);
}

} // namespace

// SIGKILL would end this process alone and leave its children. Any other signal but this
// one would wait for somebody to continue a process that is stopped.
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
