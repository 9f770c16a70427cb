// SPDX-License-Identifier: Apache-2.0
#include "backends/engine/child_process.hpp"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <future>
#include <memory>
#include <system_error>
#include <tuple>
#include <utility>

#include "backends/backend.hpp"
#include "backends/engine/child_exit.hpp"
#include "backends/engine/errors.hpp"
#include "backends/engine/message_channel.hpp"
#include "backends/engine/spawn.hpp"
#include "base/system_error_text.hpp"

namespace fiber::backends {

namespace {

constexpr std::size_t errors_kept = 4096;

/// Passes available bytes to `take`, at most what a pipe holds. Returns false at the end.
template <class Take>
bool drain(int fd, Take take) {
  char piece[16 * 1024];
  for (int pieces = 0; pieces < 4; ++pieces) {
    ssize_t got = ::read(fd, piece, sizeof piece);
    if (got > 0 && take(std::string_view(piece, static_cast<std::size_t>(got))))
      continue;
    if (got < 0 && errno == EINTR)
      continue;
    return got < 0 && errno == EAGAIN;
  }
  return true;
}

/// Returns a file in memory with this text, to be read from its begin. Throws
/// EngineError.
UniqueFd file_of(std::string_view text) {
  UniqueFd file(::memfd_create("fiber-input", MFD_CLOEXEC));
  while (file && !text.empty()) {
    ssize_t put = ::write(file.get(), text.data(), text.size());
    if (put < 0 && errno != EINTR)
      throw engine_error("write a program's input", errno);
    text.remove_prefix(static_cast<std::size_t>(put < 0 ? 0 : put));
  }
  if (!file || ::lseek(file.get(), 0, SEEK_SET) != 0)
    throw engine_error("make a file in memory", errno);
  return file;
}

std::string in_words(std::chrono::milliseconds time) {
  return time.count() % 1000 == 0 ? std::to_string(time.count() / 1000) + " s"
                                  : std::to_string(time.count()) + " ms";
}

} // namespace

std::string failure(const ChildResult& result, std::chrono::milliseconds limit) {
  if (result.start_error != 0)
    return system_error_text(result.start_error);
  if (result.timed_out)
    return "no answer within " + in_words(limit);
  if (result.too_much_output)
    return "too much output";
  int code = result.exit_code.value_or(0);
  if (code == 0)
    return {};
  return code > 0 ? "exit code " + std::to_string(code)
                  : "killed by signal " + std::to_string(-code);
}

std::vector<std::string>
environment_with(const std::map<std::string, std::string>& variables) {
  std::vector<std::string> all;
  for (char** entry = ::environ; entry && *entry; ++entry) {
    std::string text = *entry;
    if (!variables.contains(text.substr(0, text.find('='))))
      all.push_back(std::move(text));
  }
  for (auto& [name, value] : variables)
    all.push_back(name + "=" + value);
  return all;
}

ChildCommand command_of(std::vector<std::string> words, std::chrono::milliseconds limit) {
  ChildCommand command;
  command.program = words.front();
  command.argv = std::move(words);
  command.environment = environment_with({});
  command.limit = limit;
  return command;
}

std::shared_ptr<ChildProcess> ChildProcess::start(Loop& loop, ChildCommand command,
                                                  Done done) {
  std::shared_ptr<ChildProcess> child(
    new ChildProcess(loop, std::move(command), std::move(done)));
  child->run();
  return child;
}

ChildProcess::ChildProcess(Loop& loop, ChildCommand command, Done done)
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
  result_.start_error = spawn();
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
  if (command_.limit.count() == 0)
    return;
  timer_ = loop_.after(command_.limit, [this] {
    timer_.reset();
    result_.timed_out = true;
    kill();
  });
}

int ChildProcess::spawn() {
  try {
    UniqueFd in, out, err;
    if (!command_.input.empty())
      in = file_of(std::exchange(command_.input, {}));
    else if (!command_.input_file.empty())
      in = UniqueFd(::open(command_.input_file.c_str(), O_RDONLY | O_CLOEXEC));
    if (!in && !command_.input_file.empty())
      return errno;
    std::tie(out_, out) = local::make_pipe();
    std::tie(err_, err) = local::make_pipe();
    return spawn_child({.executable = command_.program,
                        .argv = command_.argv,
                        .environment = command_.environment,
                        .input = in.get(),
                        .output = out.get(),
                        .errors = err.get(),
                        .interactive = command_.interactive},
                       pid_);
  } catch (const EngineError& error) {
    return error.status();
  }
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

ChildResult run_child(ChildCommand command) {
  Loop loop;
  std::promise<ChildResult> result;
  std::shared_ptr<ChildProcess> child;
  loop.post([&] {
    child = ChildProcess::start(loop, std::move(command), [&](ChildResult told) {
      result.set_value(std::move(told));
    });
  });
  auto told = result.get_future().get();
  loop.stop();
  return told;
}

} // namespace fiber::backends
