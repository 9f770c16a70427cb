// SPDX-License-Identifier: Apache-2.0
#include "backends/kubernetes/child_process.hpp"

#include <sys/epoll.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <tuple>
#include <utility>

#include "backends/backend.hpp"
#include "backends/engine/child_exit.hpp"
#include "backends/engine/message_channel.hpp"
#include "backends/engine/spawn.hpp"

namespace fiber::backends::kubernetes {

namespace {

constexpr std::size_t errors_kept = 4096;

/// Passes available bytes to `take`, at most what a pipe holds. Returns false at the end.
template <class Take>
bool drain(int fd, Take take) {
  char piece[4096];
  for (int pieces = 0; pieces < 16; ++pieces) {
    ssize_t got = ::read(fd, piece, sizeof piece);
    if (got > 0 && take(std::string_view(piece, static_cast<std::size_t>(got))))
      continue;
    if (got < 0 && errno == EINTR)
      continue;
    return got < 0 && errno == EAGAIN;
  }
  return true;
}

} // namespace

std::shared_ptr<ChildProcess> ChildProcess::start(Loop& loop, Command command,
                                                  Done done) {
  std::shared_ptr<ChildProcess> child(
    new ChildProcess(loop, std::move(command), std::move(done)));
  child->run();
  return child;
}

ChildProcess::ChildProcess(Loop& loop, Command command, Done done)
  : loop_(loop), command_(std::move(command)), done_(std::move(done)) {}

ChildProcess::~ChildProcess() {
  stop_watching();
  if (pid_ > 0) {
    kill();
    reap(); // A short wait: the process is dead or about to die.
  }
}

void ChildProcess::run() {
  auto self = weak_from_this();
  try {
    UniqueFd out, err;
    std::tie(out_, out) = local::make_pipe();
    std::tie(err_, err) = local::make_pipe();
    result_.start_error = spawn_child({.executable = command_.program,
                                       .argv = command_.argv,
                                       .environment = command_.environment,
                                       .output = out.get(),
                                       .errors = err.get(),
                                       .interactive = command_.interactive},
                                      pid_);
  } catch (const EngineError& error) {
    result_.start_error = error.status();
  }
  if (result_.start_error != 0)
    return loop_.post([self] {
      if (auto child = self.lock())
        child->finish();
    });
  watch(out_, &ChildProcess::read_output);
  watch(err_, &ChildProcess::read_errors);
  pidfd_ = local::open_pidfd(pid_);
  local::on_exit(loop_, pid_, pidfd_.get(), [self] {
    if (auto child = self.lock()) {
      child->reap();
      child->finish();
    }
  });
  timer_ = loop_.after(command_.limit, [this] {
    timer_.reset();
    result_.timed_out = true;
    kill();
  });
}

void ChildProcess::watch(UniqueFd& pipe, void (ChildProcess::*read)()) {
  loop_.watch(pipe.get(), EPOLLIN, [this, read](std::uint32_t) { (this->*read)(); });
}

void ChildProcess::read_output() {
  bool more = drain(out_.get(), [this](std::string_view piece) {
    result_.output += piece;
    result_.too_much_output = result_.output.size() > command_.output_limit;
    return !result_.too_much_output;
  });
  if (result_.too_much_output)
    kill();
  if (!more)
    loop_.unwatch(out_.get());
}

void ChildProcess::read_errors() {
  bool more = drain(err_.get(), [this](std::string_view piece) {
    if (command_.on_errors)
      command_.on_errors(piece);
    result_.errors += piece;
    if (result_.errors.size() > errors_kept)
      result_.errors.erase(0, result_.errors.size() - errors_kept);
    return true;
  });
  if (!more)
    loop_.unwatch(err_.get());
}

void ChildProcess::kill() {
  if (pid_ <= 0)
    return;
  // An interactive child is in our own process group.
  ::kill(command_.interactive ? pid_ : -pid_, SIGKILL);
}

void ChildProcess::reap() {
  siginfo_t ended{};
  // Without WNOHANG: a traced process becomes waitable later. The exit code stays unknown
  // if the program itself has reaped the child.
  if (::waitid(P_PID, static_cast<id_t>(pid_), &ended, WEXITED) == 0)
    result_.exit_code = ended.si_code == CLD_EXITED ? ended.si_status : -ended.si_status;
  pid_ = 0;
}

void ChildProcess::stop_watching() {
  for (auto* fd : {&out_, &err_, &pidfd_})
    if (*fd)
      loop_.unwatch(fd->get());
  if (timer_)
    loop_.cancel(*timer_);
  timer_.reset();
}

void ChildProcess::finish() {
  if (result_.start_error == 0) {
    read_output();
    read_errors();
  }
  stop_watching();
  std::exchange(done_, nullptr)(std::move(result_));
}

} // namespace fiber::backends::kubernetes
