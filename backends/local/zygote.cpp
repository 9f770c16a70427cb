// SPDX-License-Identifier: Apache-2.0
#include "backends/local/zygote.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <map>

#include "backends/engine/child_exit.hpp"
#include "backends/engine/descriptor_limit.hpp"
#include "backends/engine/errors.hpp"
#include "backends/engine/message_channel.hpp"
#include "backends/local/core_table.hpp"
#include "backends/local/parent_death.hpp"
#include "backends/local/start_message.hpp"

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define FIBER_SANITIZER_THREADS 1
#endif
#elif defined(__SANITIZE_THREAD__)
#define FIBER_SANITIZER_THREADS 1
#endif
#ifndef FIBER_SANITIZER_THREADS
#define FIBER_SANITIZER_THREADS 0
#endif

namespace fiber::backends::local {

namespace {

/// Returns the number of threads, without ThreadSanitizer's own, which survives a fork.
int thread_count() {
  int count = 0;
  std::error_code error;
  for (auto at = std::filesystem::directory_iterator("/proc/self/task", error);
       !error && at != std::filesystem::directory_iterator(); at.increment(error))
    ++count;
  return count - FIBER_SANITIZER_THREADS;
}

/// Checks the inherited descriptor and makes it close-on-exec.
UniqueFd take_control(int fd) {
  int type = 0;
  socklen_t size = sizeof type;
  if (::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) != 0 || type != SOCK_SEQPACKET)
    throw EngineError("enter job", errno,
                      "descriptor " + std::to_string(fd) +
                        " named by FIBER_NODE is not the driver's: was it closed before "
                        "fiber::init?");
  ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  return UniqueFd(fd);
}

/// Sets the name in ps, which is "exe" after an exec through /proc/self/exe.
void restore_process_name() {
  if (program_invocation_short_name)
    ::prctl(PR_SET_NAME, program_invocation_short_name);
}

/// Flushes the buffers, which each forked job would print again.
void prepare_stdio() {
  std::cout.flush();
  std::cerr.flush();
  std::clog.flush();
  std::fflush(nullptr);
  std::setvbuf(stdout, nullptr, _IOLBF, 0); // By lines, although it is a pipe.
}

UniqueFd take(Received& received, Carried what, std::size_t& next) {
  if (!(received.message.carried & what) || next == received.fds.size())
    return {};
  return std::move(received.fds[next++]);
}

/// Limits allocated memory, not address space, of which shared memory and libraries take
/// much.
void limit_memory(std::uint64_t mb) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  mb = 0; // Shadow memory would count.
#endif
  if (mb == 0)
    return;
  const rlimit limit{mb << 20, mb << 20};
  if (::setrlimit(RLIMIT_DATA, &limit) != 0)
    throw engine_error("limit memory", errno);
}

/// Turns this process into a job.
JobEntry begin_job(Received received) {
  std::size_t next = 0;
  UniqueFd start = take(received, Carried::start, next);
  if (UniqueFd output = take(received, Carried::output, next)) {
    ::dup2(output.get(), STDOUT_FILENO);
    ::dup2(output.get(), STDERR_FILENO);
  }
  JobEntry entry;
  entry.link = take(received, Carried::link, next);
  UniqueFd page = take(received, Carried::page, next);
  Start told = read_start(std::move(start));
  set_soft_limit(told.descriptors);
  limit_memory(told.memory_mb);
  pin_to(told.cores);
  for (auto& [name, value] : told.environment)
    ::setenv(name.c_str(), value.c_str(), 1);
  if (page) {
    entry.page = std::make_shared<SharedPage>(std::move(page), told.page_bytes);
    entry.page->close_fd();
  }
  entry.boot = std::move(told.boot);
  entry.keys = std::move(told.keys);
  entry.driver = std::move(told.driver);
  return entry;
}

/// Announces this process to the driver as its job `serial`. The job does so itself: when
/// the driver reads the end of the socket, it knows that no unannounced job is left.
void announce(int control, std::uint64_t serial) {
  Message started{.kind = Kind::started, .pid = ::getpid(), .serial = serial};
  UniqueFd self = open_pidfd(::getpid());
  int fd = self.get();
  int error = fd < 0 ? EBADF : send_message(control, started, {&fd, 1});
  if (error != 0 && send_message(control, started, {}) != 0)
    ::_exit(EXIT_FAILURE); // The driver has gone or given the job up.
}

class Zygote {
public:
  explicit Zygote(UniqueFd control);
  JobEntry run();

private:
  std::optional<JobEntry> start_job(Received received);
  JobEntry become_job(Received received);
  void reap();
  [[noreturn]] void end_all();

  UniqueFd control_, signals_, driver_;
  sigset_t mask_{}; // Before this became a zygote, as is child_.
  struct sigaction child_ {};
  std::map<pid_t, std::uint64_t> jobs_;
};

Zygote::Zygote(UniqueFd control) : control_(std::move(control)) {
  struct sigaction ordinary {};
  ordinary.sa_handler = SIG_DFL;
  ::sigaction(SIGCHLD, &ordinary, &child_);
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  ::sigprocmask(SIG_BLOCK, &child, &mask_);
  signals_ = UniqueFd(::signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals_)
    throw engine_error("start zygote", errno);
  // A fork of the user's may hold the driver's end of `control` open.
  driver_ = open_pidfd(::getppid());
}

JobEntry Zygote::run() {
  if (send_message(control_.get(), {.kind = Kind::ready}, {}) != 0)
    end_all();
  for (;;) {
    pollfd ready[] = {{control_.get(), POLLIN, 0},
                      {signals_.get(), POLLIN, 0},
                      {driver_.get(), POLLIN, 0}}; // poll() ignores -1.
    if (::poll(ready, std::size(ready), -1) < 0)
      continue;
    if (ready[1].revents)
      reap();
    if (ready[2].revents)
      end_all();
    if (!ready[0].revents)
      continue;
    Received received = receive_message(control_.get(), MSG_DONTWAIT);
    if (received.status == Received::Status::end)
      end_all();
    if (received.status == Received::Status::message)
      if (auto entry = start_job(std::move(received)))
        return std::move(*entry);
  }
}

std::optional<JobEntry> Zygote::start_job(Received received) {
  pid_t pid = ::fork();
  if (pid == 0)
    return become_job(std::move(received));
  std::uint64_t serial = received.message.serial;
  if (pid < 0) {
    send_message(control_.get(),
                 {.kind = Kind::fork_failed, .serial = serial, .value = errno}, {});
    return {};
  }
  ::setpgid(pid, pid); // In both processes, because either may run first.
  jobs_.emplace(pid, serial);
  return {};
}

JobEntry Zygote::become_job(Received received) {
  ::setpgid(0, 0);
  announce(control_.get(), received.message.serial);
  control_.reset();
  signals_.reset();
  driver_.reset();
  jobs_.clear();
  ::sigaction(SIGCHLD, &child_, nullptr);
  ::sigprocmask(SIG_SETMASK, &mask_, nullptr);
  return begin_job(std::move(received));
}

void Zygote::reap() {
  signalfd_siginfo ignored;
  while (::read(signals_.get(), &ignored, sizeof ignored) > 0) {
  }
  for (;;) {
    // Unreaped until its group is killed, so that the kernel cannot reuse the number.
    siginfo_t ended{};
    if (::waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) != 0 || ended.si_pid == 0)
      return;
    auto job = jobs_.find(ended.si_pid);
    if (job != jobs_.end())
      ::kill(-ended.si_pid, SIGKILL);
    ::waitid(P_PID, static_cast<id_t>(ended.si_pid), &ended, WEXITED | WNOHANG);
    if (job == jobs_.end())
      continue;
    int value = ended.si_code == CLD_EXITED ? ended.si_status : -ended.si_status;
    send_message(control_.get(),
                 {.kind = Kind::ended, .serial = job->second, .value = value}, {});
    jobs_.erase(job);
  }
}

/// Kills all jobs, because the driver has ended. A stopped job would not notice.
void Zygote::end_all() {
  for (auto& [pid, serial] : jobs_) {
    ::kill(pid, SIGKILL);
    ::kill(-pid, SIGKILL);
  }
  ::_exit(EXIT_SUCCESS);
}

} // namespace

JobEntry enter_zygote(int control) {
  UniqueFd socket = take_control(control);
  restore_process_name();
  prepare_stdio();
  if (int threads = thread_count(); threads > 1) {
    send_message(socket.get(), {.kind = Kind::threads, .value = threads}, {});
    ::_exit(EXIT_SUCCESS);
  }
  return Zygote(std::move(socket)).run();
}

JobEntry enter_plain(int control) {
  UniqueFd socket = take_control(control);
  restore_process_name();
  prepare_stdio();
  Received received = receive_message(socket.get(), MSG_DONTWAIT);
  if (received.status != Received::Status::message || received.message.kind != Kind::job)
    throw EngineError("enter job", 0, "no start message is waiting");
  // Safe, since the thread that spawned this job lives as long as the driver's backend.
  if (!end_with_parent(received.message.pid))
    ::_exit(EXIT_FAILURE);
  announce(socket.get(), received.message.serial);
  return begin_job(std::move(received));
}

} // namespace fiber::backends::local
