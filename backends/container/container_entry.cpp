// SPDX-License-Identifier: Apache-2.0
#include "backends/container/container_entry.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <thread>

#include "backends/container/control_group.hpp"
#include "backends/engine/errors.hpp"
#include "base/log.hpp"

namespace fiber::backends {

namespace {

// Layout: this head, the boot bytes, the keys.
struct StartHead {
  std::array<char, 8> magic{'f', 'i', 'b', 'e', 'r', 'j', 'o', 'b'};
  std::uint64_t boot = 0, keys = 0;
};
constexpr std::uint64_t longest = 64 << 20; // Sanity limit.

void read_all(int fd, void* data, std::size_t size) {
  for (auto* at = static_cast<char*>(data); size > 0;) {
    ssize_t got = ::read(fd, at, size);
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      throw engine_error("read start message", errno);
    if (got == 0)
      throw EngineError("read start message", 0, "stdin ended; the driver is gone");
    at += got;
    size -= static_cast<std::size_t>(got);
  }
}

bool has_threads() {
  std::error_code error;
  std::filesystem::directory_iterator tasks("/proc/self/task", error);
  return !error && std::distance(begin(tasks), end(tasks)) > 1;
}

/// Waits until the pipe has been read: a runtime may drop its rest when the container
/// ends.
void await_readers() {
  constexpr auto limit = std::chrono::seconds(2);
  auto end = std::chrono::steady_clock::now() + limit;
  for (int unread = 0; ::ioctl(STDOUT_FILENO, FIONREAD, &unread) == 0 && unread > 0 &&
                       std::chrono::steady_clock::now() < end;)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

/// Does the duties of a container's first process until the job has ended: passes on
/// signals, collects orphans. Exits with the job's status; the kernel then kills the
/// rest.
[[noreturn]] void stay_as_first(pid_t job, const sigset_t& all) {
  auto before = out_of_memory_kills();
  for (;;) {
    int signal = 0;
    if (::sigwait(&all, &signal) != 0)
      continue;
    if (signal != SIGCHLD) {
      ::kill(job, signal);
      continue;
    }
    int status = 0;
    for (pid_t ended = 0; (ended = ::waitpid(-1, &status, WNOHANG)) > 0;) {
      if (ended != job)
        continue;
      if (auto now = out_of_memory_kills();
          WIFSIGNALED(status) && before && now && *now > *before)
        ::dprintf(STDOUT_FILENO, "%s\n", out_of_memory_words);
      await_readers();
      ::_exit(WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
    }
  }
}

/// Duplicates the stdin that says what a job of Docker or Slurm must know, because main()
/// may close it before fiber::init.
class StartInput {
public:
  StartInput() {
    const char* node = std::getenv("FIBER_NODE");
    if (node && (std::strcmp(node, "stdin") == 0 || std::strcmp(node, "slurm") == 0))
      copy_ = ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (copy_ >= 0)
      ::fstat(copy_, &input_);
  }
  /// Returns the duplicate, or another one of stdin if main() has closed the first.
  UniqueFd open() const {
    struct stat now {};
    const bool is_ours = copy_ >= 0 && ::fstat(copy_, &now) == 0 &&
                         now.st_dev == input_.st_dev && now.st_ino == input_.st_ino;
    return UniqueFd(is_ours ? copy_
                            : ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  }

private:
  int copy_ = -1;
  struct stat input_ {};
};
const StartInput kept_input;

/// Ends a container's first process on SIGTERM from the start of the program. The kernel
/// ignores a signal that such a process has no handler for, so a pod that was deleted
/// before its program reached fiber::init would use up its grace period.
struct EarlyTermination {
  EarlyTermination() {
    if (::getpid() == 1 && std::getenv("FIBER_NODE") != nullptr)
      std::signal(SIGTERM, [](int signal) { ::_exit(128 + signal); });
  }
};
const EarlyTermination early_termination;

void leave_first_process_behind() {
  if (::getpid() != 1)
    return;
  if (has_threads()) {
    log().warn("threads run before fiber::init: the job is its container's first process "
               "itself, and nobody collects orphans");
    return;
  }
  sigset_t all, before;
  sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, &before);
  std::fflush(nullptr); // Otherwise both processes would write it.
  pid_t job = ::fork();
  if (job < 0)
    throw engine_error("start the job", errno);
  if (job > 0)
    stay_as_first(job, all);
  ::setpgid(0, 0);
  std::signal(SIGTERM, SIG_DFL);
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
}

} // namespace

std::string container_start(const JobSpec& spec) {
  StartHead head;
  head.boot = spec.boot.size();
  head.keys = spec.keys.size();
  std::string text(reinterpret_cast<const char*>(&head), sizeof head);
  text.append(reinterpret_cast<const char*>(spec.boot.data()), spec.boot.size());
  text.append(reinterpret_cast<const char*>(spec.keys.data()), spec.keys.size());
  return text;
}

UniqueFd start_input() {
  return kept_input.open();
}

JobEntry enter_container(UniqueFd input) {
  StartHead head;
  read_all(input.get(), &head, sizeof head);
  if (head.magic != StartHead{}.magic || head.boot > longest || head.keys > longest)
    throw EngineError("read start message", 0,
                      "stdin does not say what a job must know; only Fiber's docker "
                      "backend sets FIBER_NODE=stdin");
  JobEntry entry;
  entry.boot.resize(head.boot);
  entry.keys.resize(head.keys);
  read_all(input.get(), entry.boot.data(), entry.boot.size());
  read_all(input.get(), entry.keys.data(), entry.keys.size());
  input.reset(); // Or the container's first process would keep it open.
  begin_container();
  return entry;
}

void begin_container() {
  ::dup2(STDOUT_FILENO, STDERR_FILENO);
  UniqueFd nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!nothing || ::dup2(nothing.get(), STDIN_FILENO) < 0)
    throw engine_error("close stdin", errno);
  leave_first_process_behind();
}

} // namespace fiber::backends
