// SPDX-License-Identifier: Apache-2.0
#include "tests/e2e/support/driver_process.hpp"

#include <csignal>
#include <stdexcept>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/e2e/support/processes.hpp"

namespace fiber::e2e {
namespace {

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> all;
  for (auto& word : words)
    all.push_back(word.data());
  all.push_back(nullptr);
  return all;
}

} // namespace

Driver::Driver(const std::string& program, const std::vector<std::string>& settings) {
  std::string path = FAULT_DRIVER;
  std::vector<std::string> arguments{path, program};
  auto environment = settings;
  for (auto** variable = environ; *variable != nullptr; ++variable)
    environment.emplace_back(*variable);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  auto error = posix_spawn(&pid_, path.c_str(), &actions, nullptr,
                           pointers(arguments).data(), pointers(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0)
    throw std::runtime_error("posix_spawn " + path);
}

Driver::~Driver() {
  if (pid_ == 0)
    return;
  kill(pid_, SIGKILL);
  wait();
}

int Driver::wait() {
  int status = 0;
  if (pid_ == 0 || !wait_until([&] { return waitpid(pid_, &status, WNOHANG) == pid_; }))
    return 256;
  pid_ = 0;
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

} // namespace fiber::e2e
