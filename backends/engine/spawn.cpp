// SPDX-License-Identifier: Apache-2.0
#include "backends/engine/spawn.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <system_error>

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

} // namespace

bool is_program(const std::string& file) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(file, ignored) &&
         ::access(file.c_str(), X_OK) == 0;
}

std::string find_in_path(const std::string& name) {
  const char* path = std::getenv("PATH");
  fiber::detail::Classic<std::istringstream> folders(
    path ? path : "/usr/local/bin:/usr/bin:/bin");
  int problem = ENOENT;
  for (std::string folder; std::getline(folders, folder, ':');) {
    auto file = folder + "/" + name;
    if (!folder.starts_with('/') || ::access(file.c_str(), F_OK) != 0)
      continue;
    if (is_program(file))
      return file;
    problem = EACCES;
  }
  errno = problem;
  return {};
}

int spawn_child(const ChildProgram& program, pid_t& pid) {
  auto file = program.executable;
  if (file.find('/') == file.npos)
    file = find_in_path(file);
  if (file.empty())
    return errno;
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
