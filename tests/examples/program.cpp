// SPDX-License-Identifier: Apache-2.0
#include "tests/examples/program.hpp"

#include <array>
#include <cerrno>
#include <cstdlib>
#include <iterator>
#include <regex>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

/// With TEST_LOCALE=comma programs have that locale from their start, as tests have: a
/// library that sets it is loaded into them.
std::vector<char*> environment() {
  static std::string loaded = "LD_PRELOAD=" FIBER_COMMA_LOCALE;
  std::vector<char*> all;
  for (char** variable = environ; *variable != nullptr; ++variable)
    all.push_back(*variable);
  if (const char* wanted = std::getenv("TEST_LOCALE");
      wanted != nullptr && std::string_view(wanted) == "comma")
    all.push_back(loaded.data());
  all.push_back(nullptr);
  return all;
}

} // namespace

Program::Program(std::vector<std::string> command, bool leads) {
  std::array<int, 2> ends = {};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0)
    throw std::system_error(errno, std::generic_category(), "pipe");
  pipe_ = ends[0];
  std::vector<char*> arguments;
  for (auto& part : command)
    arguments.push_back(part.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  for (int fd : {STDOUT_FILENO, STDERR_FILENO})
    ::posix_spawn_file_actions_adddup2(&actions, ends[1], fd);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  sigset_t interrupt; // Which is ignored in what a script runs in the background.
  ::sigemptyset(&interrupt);
  ::sigaddset(&interrupt, SIGINT);
  ::posix_spawnattr_setsigdefault(&attributes, &interrupt);
  ::posix_spawnattr_setflags(
    &attributes,
    static_cast<short>(POSIX_SPAWN_SETSIGDEF | (leads ? POSIX_SPAWN_SETPGROUP : 0)));
  const int error = ::posix_spawn(&pid_, arguments[0], &actions, &attributes,
                                  arguments.data(), environment().data());
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  if (error != 0)
    throw std::system_error(error, std::generic_category(), command[0]);
}

Program::~Program() {
  if (pid_ > 0) {
    kill(SIGKILL);
    wait();
  }
  ::close(pipe_);
}

void Program::limit_unread() {
  if (::fcntl(pipe_, F_SETPIPE_SZ, 4096) < 0)
    throw std::system_error(errno, std::generic_category(), "F_SETPIPE_SZ");
}

std::optional<std::string> Program::line() {
  for (;;) {
    if (const auto end = pending_.find('\n'); end != std::string::npos) {
      auto line = pending_.substr(0, end);
      pending_.erase(0, end + 1);
      output_ += line + "\n";
      return line;
    }
    std::array<char, 4096> buffer;
    const auto got = ::read(pipe_, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0) {
      output_ += pending_;
      return pending_.empty() ? std::nullopt : std::optional(std::exchange(pending_, {}));
    }
    pending_.append(buffer.data(), static_cast<std::size_t>(got));
  }
}

bool Program::read_until(std::uint64_t times,
                         const std::function<bool(const std::string&)>& is_it) {
  while (times > 0) {
    const auto next = line();
    if (!next)
      return false;
    times -= is_it(*next) ? 1 : 0;
  }
  return true;
}

std::string Program::rest() {
  std::string all;
  while (auto next = line())
    all += *next + "\n";
  return all;
}

void Program::kill(int signal) {
  ::kill(pid_, signal);
}

void Program::kill_group(int signal) {
  ::kill(-pid_, signal);
}

bool Program::has_ended() const {
  siginfo_t info = {};
  ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT);
  return info.si_pid == pid_;
}

int Program::wait() {
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR)
    continue;
  pid_ = -1;
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

std::vector<pid_t> workers_in(const std::string& line) {
  static const std::regex pattern("^ *[0-9]+/[0-9]+ .* pids((?: [0-9]+)+)$");
  std::smatch match;
  if (!std::regex_search(line, match, pattern))
    return {};
  std::istringstream list(match[1]);
  return {std::istream_iterator<pid_t>(list), {}};
}
