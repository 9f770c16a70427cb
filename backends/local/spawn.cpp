// SPDX-License-Identifier: Apache-2.0
#include "backends/local/spawn.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <fstream>
#include <memory>

#include "backends/engine/errors.hpp"

namespace fiber::backends::local {

namespace {

/// Owns the settings of posix_spawn.
class Settings {
public:
  Settings() {
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawnattr_init(&attributes);
  }
  ~Settings() {
    ::posix_spawn_file_actions_destroy(&actions);
    ::posix_spawnattr_destroy(&attributes);
  }
  Settings(const Settings&) = delete;
  Settings& operator=(const Settings&) = delete;

  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
};

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> result;
  for (auto& word : words)
    result.push_back(word.data());
  result.push_back(nullptr);
  return result;
}

} // namespace

Program Program::resolve(std::string executable, std::vector<std::string> argv) {
  // Not the resolved path: the file may have been replaced since the driver started.
  Program program{
    executable.empty() ? "/proc/self/exe" : std::move(executable), std::move(argv), {}};
  if (program.argv.empty()) {
    std::ifstream line("/proc/self/cmdline", std::ios::binary);
    for (std::string word; std::getline(line, word, '\0');)
      program.argv.push_back(word);
  }
  if (program.argv.empty())
    throw EngineError("start local backend", 0, "can't read /proc/self/cmdline");
  for (char** variable = ::environ; variable && *variable; ++variable)
    if (std::string word = *variable; !word.starts_with("FIBER_NODE="))
      program.environment.push_back(std::move(word));
  return program;
}

pid_t spawn(const Program& program, const std::string& role, int control, int output) {
  Settings settings;
  auto* actions = &settings.actions;
  ::posix_spawn_file_actions_addopen(actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(actions, output, STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(actions, output, STDERR_FILENO);
  ::posix_spawn_file_actions_adddup2(actions, control, control); // Clears close-on-exec.
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  ::posix_spawnattr_setsigmask(&settings.attributes, &none);
  ::posix_spawnattr_setsigdefault(&settings.attributes, &all);
  ::posix_spawnattr_setpgroup(&settings.attributes, 0);
  ::posix_spawnattr_setflags(&settings.attributes, POSIX_SPAWN_SETSIGMASK |
                                                     POSIX_SPAWN_SETSIGDEF |
                                                     POSIX_SPAWN_SETPGROUP);
  auto argv = program.argv;
  auto environment = program.environment;
  environment.push_back("FIBER_NODE=" + role + ":" + std::to_string(control));
  pid_t pid = 0;
  int error =
    ::posix_spawn(&pid, program.executable.c_str(), actions, &settings.attributes,
                  pointers(argv).data(), pointers(environment).data());
  if (error != 0)
    throw engine_error("start " + program.executable, error);
  return pid;
}

} // namespace fiber::backends::local
