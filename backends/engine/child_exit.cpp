// SPDX-License-Identifier: Apache-2.0
#include "backends/engine/child_exit.hpp"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <fstream>

#include "fiber/detail/classic_locale.hpp"

namespace fiber::backends::local {

namespace {

bool gone(int pid) {
  fiber::detail::Classic<std::ifstream> file("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  if (!std::getline(file, line))
    return true;
  auto state = line.rfind(") ");
  return state == line.npos || line[state + 2] == 'Z' || line[state + 2] == 'X';
}

} // namespace

// A raw system call, because glibc 2.36 declares its wrappers without C linkage.
UniqueFd open_pidfd(int pid) {
  return UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}

Exit reap(int pid) {
  siginfo_t ended{};
  auto id = static_cast<id_t>(pid);
  // Without WNOHANG: a traced process (debugger, LeakSanitizer) becomes waitable later.
  if (::waitid(P_PID, id, &ended, WEXITED | WNOWAIT) != 0)
    return Exit::unknown("reaped by the program itself");
  ::kill(-pid, SIGKILL);
  ::waitid(P_PID, id, &ended, WEXITED);
  return Exit::known(ended.si_code == CLD_EXITED ? ended.si_status : -ended.si_status);
}

void on_exit(Loop& loop, int pid, int pidfd, std::function<void()> f) {
  if (pidfd >= 0) {
    bool watched = loop.watch(pidfd, EPOLLIN, [&loop, pidfd, f](std::uint32_t) {
      auto call = f; // A copy that outlives the watch.
      loop.unwatch(pidfd);
      call();
    });
    if (watched)
      return;
  }
  if (gone(pid))
    return loop.post(std::move(f));
  loop.after(std::chrono::milliseconds(20),
             [&loop, pid, f = std::move(f)] { on_exit(loop, pid, -1, f); });
}

void send_signal(int pid, int pidfd, int signal) {
  if (pidfd >= 0) {
    // A sandbox may allow pidfd_open only.
    if (::syscall(SYS_pidfd_send_signal, pidfd, signal, nullptr, 0) == 0 ||
        (errno != ENOSYS && errno != EPERM))
      return;
    pollfd ended{pidfd, POLLIN, 0};
    if (::poll(&ended, 1, 0) != 0)
      return; // Another process may have its number by now.
  }
  if (pid > 0)
    ::kill(pid, signal);
}

} // namespace fiber::backends::local
