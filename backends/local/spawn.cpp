// SPDX-License-Identifier: Apache-2.0
#include "backends/local/spawn.hpp"

#include <filesystem>
#include <system_error>

#include <unistd.h>

#include "backends/backend.hpp"
#include "backends/driver_variables.hpp"
#include "backends/engine/program.hpp"
#include "backends/engine/spawn.hpp"
#include "backends/local/process_limit.hpp"

namespace fiber::backends::local {
namespace {

std::string own_executable() {
  // Not the resolved path: the file may have been replaced since the driver started. But
  // valgrind lets /proc/self/exe name the program, and opening it opens valgrind.
  const std::string own = "/proc/self/exe";
  std::error_code error;
  auto path = program_path();
  auto same = !std::filesystem::exists(path, error) ||
              std::filesystem::equivalent(path, own, error);
  return same || error ? own : path;
}

} // namespace

Program Program::resolve(std::string executable, std::vector<std::string> argv) {
  Program program{
    executable.empty() ? own_executable() : std::move(executable), std::move(argv), {}};
  if (program.argv.empty())
    program.argv = program_words();
  if (program.argv.empty())
    throw EngineError("start local backend", 0, "can't read /proc/self/cmdline");
  for (char** variable = ::environ; variable && *variable; ++variable)
    if (std::string word = *variable;
        !word.starts_with("FIBER_NODE=") && !sets_driver_only(word))
      program.environment.push_back(std::move(word));
  return program;
}

void Program::set(const std::map<std::string, std::string>& variables) {
  std::erase_if(environment, [&](auto& word) {
    return variables.contains(word.substr(0, word.find('=')));
  });
  for (auto& [name, value] : variables)
    environment.push_back(std::string(name).append("=").append(value));
}

pid_t spawn(const Program& program, const std::string& role, int control, int output) {
  ChildProgram child{.executable = program.executable,
                     .argv = program.argv,
                     .environment = program.environment,
                     .output = output,
                     .errors = output,
                     .inherited = control};
  child.environment.push_back("FIBER_NODE=" + role + ":" + std::to_string(control));
  pid_t pid = 0;
  if (int error = spawn_child(child, pid); error != 0)
    throw EngineError("start " + program.executable, error, fork_error_text(error));
  return pid;
}

} // namespace fiber::backends::local
