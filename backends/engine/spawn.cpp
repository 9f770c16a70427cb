// SPDX-License-Identifier: Apache-2.0
#include "backends/engine/spawn.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <sstream>

#include "fiber/detail/classic_locale.hpp"

namespace fiber::backends {

namespace {

/// Owns the settings of posix_spawn.
class SpawnSettings {
public:
  SpawnSettings() {
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawnattr_init(&attributes);
  }
  ~SpawnSettings() {
    ::posix_spawn_file_actions_destroy(&actions);
    ::posix_spawnattr_destroy(&attributes);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;

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

/// Looks a name up in $PATH, without relative folders, so that the current folder does
/// not choose the program. Returns 0 or errno.
int file_of_program(const std::string& name, std::string& file) {
  file = name;
  if (name.find('/') != name.npos)
    return 0;
  const char* path = std::getenv("PATH");
  fiber::detail::Classic<std::istringstream> folders(
    path ? path : "/usr/local/bin:/usr/bin:/bin");
  int error = ENOENT;
  for (std::string folder; std::getline(folders, folder, ':');) {
    file = folder + "/" + name;
    if (!folder.starts_with('/') || ::access(file.c_str(), F_OK) != 0)
      continue;
    if (::access(file.c_str(), X_OK) == 0)
      return 0;
    error = EACCES;
  }
  return error;
}

} // namespace

int spawn_child(const ChildProgram& program, pid_t& pid) {
  std::string file;
  if (int error = file_of_program(program.executable, file); error != 0)
    return error;
  SpawnSettings settings;
  auto* actions = &settings.actions;
  if (program.input >= 0)
    ::posix_spawn_file_actions_adddup2(actions, program.input, STDIN_FILENO);
  else if (!program.interactive)
    ::posix_spawn_file_actions_addopen(actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  if (program.output >= 0)
    ::posix_spawn_file_actions_adddup2(actions, program.output, STDOUT_FILENO);
  if (program.errors >= 0)
    ::posix_spawn_file_actions_adddup2(actions, program.errors, STDERR_FILENO);
  if (program.inherited >= 0) // Clears close-on-exec.
    ::posix_spawn_file_actions_adddup2(actions, program.inherited, program.inherited);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  int flags = POSIX_SPAWN_SETSIGMASK;
  ::posix_spawnattr_setsigmask(&settings.attributes, program.mask ? program.mask : &none);
  ::posix_spawnattr_setsigdefault(&settings.attributes, &all);
  if (!program.mask)
    flags |= POSIX_SPAWN_SETSIGDEF;
  if (program.new_session)
    flags |= POSIX_SPAWN_SETSID;
  else if (!program.interactive)
    flags |= POSIX_SPAWN_SETPGROUP;
  ::posix_spawnattr_setflags(&settings.attributes, static_cast<short>(flags));
  auto argv = program.argv;
  auto environment = program.environment;
  return ::posix_spawn(&pid, file.c_str(), actions, &settings.attributes,
                       pointers(argv).data(), pointers(environment).data());
}

} // namespace fiber::backends
