// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>

#include <nlohmann/json.hpp>

#include "backends/engine/child_process.hpp"
#include "backends/engine/spawn.hpp"
#include "cli/engines/image.hpp"
#include "cli/engines/interrupts.hpp"
#include "cli/local/local.hpp"
#include "fiber/error.hpp"

namespace fiber::cli::local {
namespace {

void refuse_options(const RunRequest& request) {
  refuse_container_options(request);
  auto refuse = [](bool given, const char* option) {
    if (given)
      throw Error(std::string(option) +
                  " is for engines that limit what a program uses; on local it runs as "
                  "it is");
  };
  refuse(request.cpu > 0, "--cpu");
  refuse(request.memory_mb > 0, "--memory");
  refuse(request.gpu > 0, "--gpu");
}

std::map<std::string, std::string> environment_of(const RunRequest& request) {
  auto environment = request.environment;
  environment["FIBER_BACKEND"] = request.backend;
  return environment;
}

/// Starts the program. `child` has the rest of what it needs.
pid_t start(const RunRequest& request, backends::ChildProgram child) {
  child.executable = request.command.front();
  child.argv = request.command;
  child.environment = backends::environment_with(environment_of(request));
  pid_t pid = 0;
  if (int error = backends::spawn_child(child, pid); error != 0)
    throw Error("can't start " + request.command.front() + ": " +
                std::generic_category().message(error));
  return pid;
}

/// Returns the exit code of a child that has ended, 128 + N for signal N.
int exit_code_of(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0)
    if (errno != EINTR)
      throw std::system_error(errno, std::generic_category(), "waitpid");
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/// Passes signals on until the program ends. The second one kills it; its jobs end with
/// it.
int supervise(pid_t child, Interrupts& interrupts) {
  UniqueFd ended(static_cast<int>(::syscall(SYS_pidfd_open, child, 0)));
  if (!ended)
    throw std::system_error(errno, std::generic_category(), "pidfd_open");
  for (int signals = 0;;) {
    pollfd waits[] = {{ended.get(), POLLIN, 0}, {interrupts.fd(), POLLIN, 0}};
    if (::poll(waits, 2, -1) < 0 && errno != EINTR)
      throw std::system_error(errno, std::generic_category(), "poll");
    if (waits[0].revents != 0)
      return exit_code_of(child);
    auto signal = interrupts.take();
    if (signal.number == 0)
      continue;
    if (++signals > 1)
      ::kill(child, SIGKILL);
    else if (!signal.from_terminal) // Else the program has got it too.
      ::kill(child, signal.number);
  }
}

int detach(const RunRequest& request, const std::string& name) {
  auto log = std::filesystem::absolute(name + ".log").string();
  UniqueFd out(::open(log.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!out)
    throw Error("can't make " + log + " for the output: " + std::strerror(errno) +
                (errno == EEXIST ? "; remove it, or give another --name" : ""));
  sigset_t none;
  sigemptyset(&none);
  auto child =
    start(request,
          {.output = out.get(), .errors = out.get(), .new_session = true, .mask = &none});
  if (request.json)
    std::printf("%s\n", nlohmann::json{{"backend", request.backend},
                                       {"name", name},
                                       {"pid", child},
                                       {"log", log}}
                          .dump()
                          .c_str());
  else
    std::printf(
      "%s runs as process %d; its output goes to %s, and kill %d ends it and its "
      "workers\n",
      name.c_str(), child, log.c_str(), child);
  return 0;
}

} // namespace

int run(const RunRequest& request) {
  refuse_options(request);
  auto name = request.name.empty()
                ? std::filesystem::path(request.command.front()).filename().string()
                : request.name;
  auto checked = request;
  checked.command.front() = find_program(request.command.front());
  if (request.detach)
    return detach(checked, name);
  Interrupts interrupts;
  auto child = start(checked, {.interactive = true, .mask = &interrupts.before()});
  return supervise(child, interrupts);
}

} // namespace fiber::cli::local
